// Implements the time to solution.
#include "lab/run/time_to_solution.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>

namespace isinglass {
namespace {

double chains_needed(double found) {
  if (found <= 0) return std::numeric_limits<double>::infinity();
  if (found >= kSolutionProbability) return 1;
  return std::log1p(-kSolutionProbability) / std::log1p(-found);
}

}  // namespace

TimeToSolution time_to_solution(int64_t chains, int64_t found, double seconds) {
  using Binomial = boost::math::binomial_distribution<double>;
  const auto n = static_cast<double>(chains), k = static_cast<double>(found);
  constexpr double kTail = (1 - kSolutionLevel) / 2;
  const Bounded p{k / n, Binomial::find_lower_bound_on_p(n, k, kTail),
                  Binomial::find_upper_bound_on_p(n, k, kTail)};
  const Bounded needed{chains_needed(p.value), chains_needed(p.high), chains_needed(p.low)};
  const double each = seconds / n;
  return {p, needed, {each * needed.value, each * needed.low, each * needed.high}};
}

}  // namespace isinglass
