// The measured numbers of a cell of a grid by name: from the registry the columns of results.csv, the
// rules of claims and the report are made.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/diagnostics/rank_normalised.h"

namespace isinglass {

struct CellRun;  // metrics/cell_run.h

// A measured number; NaN where undefined, the error also where there is none.
struct Estimate {
  double value, error = std::numeric_limits<double>::quiet_NaN();
  double freedom = 0;  // degrees of freedom of the error
  double bias = 0;     // that repeats do not make smaller: the mean lies off by as much at most
};

struct Metric {
  std::string key;    // in cells, results.csv and claims
  std::string title;  // in tables
  bool higher_is_better;
  bool has_error;  // a standard error goes with it: key + "_se"
  // It is a property of the sampler at equilibrium, which chains that have not converged do not show.
  bool at_equilibrium = false;
  bool has_zero = true;  // shares of it make sense; an energy's zero is arbitrary
  // Of every cell; null: a grid asks for it, and lab/grid/cells/cell.cpp measures it.
  std::function<Estimate(const CellRun&)> measure = nullptr;
  // An undefined number may be any: of an open bracket, not of chains that never came there.
  bool unknown_where_undefined = false;
  bool of_failed = false;   // a failed cell has it, too: what it failed of
  bool se_is_bias = false;  // its "standard error" bounds a bias: half of a bracket
};

// Those of metrics/list.inc, whose sources hold the entries.
const std::vector<Metric>& grid_metrics();

// The metric, or an Error that lists the known ones, the nearest first; `where` begins the message.
const Metric& find_metric(const std::string& key, const std::string& where);

// Errors of independent estimates, added up. Not std::hypot: that is of a newer C library than the
// oldest machines have that scripts/bundle.sh serves.
inline double added_errors(double a, double b) {
  return std::sqrt(a * a + b * b);
}

}  // namespace isinglass
