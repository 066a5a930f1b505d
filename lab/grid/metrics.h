// The measured numbers of a cell of a grid: one table, from which the columns of results.csv, the
// rules of claims and the report are made.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace isinglass {

struct Metric {
  std::string key;    // in cells, results.csv and claims
  std::string title;  // in tables
  bool higher_is_better;
  bool has_error;  // a standard error goes with it: key + "_se"
  // It is a property of the sampler at equilibrium, which chains that have not converged do not show.
  bool at_equilibrium = false;
  bool has_zero = true;  // shares of it make sense; an energy's zero is arbitrary
};

const std::vector<Metric>& grid_metrics();

// The metric, or an Error that lists the known ones, the nearest first; `where` begins the message.
const Metric& find_metric(const std::string& key, const std::string& where);

// R̂ above it: chains still drift or disagree, and their means are not the target's.
inline constexpr double kConvergedRhat = 1.1;

// A measured number; NaN where undefined, the error also where there is none.
struct Estimate {
  double value, error;
  double freedom = std::numeric_limits<double>::infinity();  // degrees of freedom of the error
};

// Errors of independent estimates, added up. Not std::hypot: that is of a newer C library than the
// oldest machines have that scripts/bundle.sh serves.
inline double added_errors(double a, double b) {
  return std::sqrt(a * a + b * b);
}

}  // namespace isinglass
