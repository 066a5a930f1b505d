// Declares the registry of the numbers measured in a grid's cells, by name. The columns of
// results.csv, the rules of claims and the report are made from it.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/diagnostics/rank_normalised.h"

namespace isinglass {

struct CellRun;  // defined in metrics/cell_run.h

// Holds a measured number with its standard error. The number is NaN if it is undefined. The error
// is NaN if it is undefined or if there is none.
struct Estimate {
  double value, error = std::numeric_limits<double>::quiet_NaN();
  double freedom = 0;  // Counts the degrees of freedom of the error.
  // Bounds the distance of the mean from the true value that repeats do not reduce.
  double bias = 0;
};

struct Metric {
  std::string key;    // Names the metric in cells, results.csv and claims.
  std::string title;  // Names the metric in tables.
  bool higher_is_better;
  bool has_error;  // If true, there is a standard error, stored as key + "_se".
  // If true, the metric is a property of the sampler at equilibrium, which unconverged chains do
  // not show.
  bool at_equilibrium = false;
  bool has_zero = true;  // Shares of it make sense; false for energies, whose zero is arbitrary.
  // Measures every cell. If null, only grids that ask for the metric have it, and
  // lab/grid/cells/cell.cpp measures it.
  std::function<Estimate(const CellRun&)> measure = nullptr;
  // If true, an undefined number may have any value, as with an open bracket. If false, undefined
  // means that the event did not happen, as with chains that never arrived.
  bool unknown_where_undefined = false;
  // If true, a failed cell has the metric as well, as it measures the failure.
  bool of_failed = false;
  bool se_is_bias = false;  // If true, the "standard error" bounds a bias: it is half of a bracket.
};

// Returns the metrics of metrics/list.inc, whose source files hold the entries.
const std::vector<Metric>& grid_metrics();

// Returns the metric. Throws Error that lists the known ones, the nearest first; `where` begins the
// message.
const Metric& find_metric(const std::string& key, const std::string& where);

// Adds the errors of independent estimates in quadrature. std::hypot is not used, as it needs a
// newer C library than the oldest machines that scripts/bundle.sh supports have.
inline double added_errors(double a, double b) {
  return std::sqrt(a * a + b * b);
}

}  // namespace isinglass
