// Implements the choice of the number of steps and of chains.
#include "lab/run/time_budget.h"

#include <algorithm>
#include <cmath>

namespace isinglass {
namespace {

constexpr double kLastShare = 0.04, kTotalShare = 0.2;

}  // namespace

int64_t burn_in_within(const TimeBudget& budget, const std::function<void(int64_t)>& make_steps,
                       const std::function<double()>& clock) {
  const double begin = clock();
  int64_t steps = std::max<int64_t>(1, budget.least);
  double now = begin, last = 0;
  for (;; steps *= 2) {
    make_steps(steps);
    last = clock() - now;
    now += last;
    if (last >= kLastShare * budget.seconds || now - begin >= kTotalShare * budget.seconds) break;
    if (steps > budget.most / 2) break;
  }
  const double left = std::max(0.0, budget.seconds - (now - begin));
  const double fitting =
      last > 0 ? left / last * static_cast<double>(steps) : static_cast<double>(budget.most);
  const double all = std::min(fitting, static_cast<double>(budget.most));
  return std::max(budget.least, static_cast<int64_t>(all) - budget.after);
}

int64_t population_within(double chain_steps, int64_t populations) {
  const auto chains =
      static_cast<int64_t>(std::sqrt(chain_steps / static_cast<double>(populations)));
  return chains < kLeastPopulation ? 0 : chains;
}

}  // namespace isinglass
