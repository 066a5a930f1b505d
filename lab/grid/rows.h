// Pools and writes the rows of results.json. There is one row per cell: {model, sampler, settings,
// repeat, status, error, chains, metrics}. `chains` counts the chains that move independently of
// each other. `metrics` holds numbers by the keys of lab/grid/metrics.h; KEY_se is their standard
// error, or the bound of their bias (Metric::se_is_bias).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/grid/metrics.h"

namespace isinglass {

// Combines the repeats of a cell.
struct Setting {
  std::string model, sampler;
  std::map<std::string, std::string> settings;
  // Holds the mean over the repeats, with its error, degrees of freedom and bias by the rule of
  // rules/interval.h. The error is NaN if it is unknown, as for one repeat of a metric without an
  // error.
  Estimate estimate;
  // These count all repeats, and the failed ones, which leave no defined number.
  int64_t repeats = 0, failed = 0;
  double rhat = NAN;  // Holds the largest R̂, or NaN if one is undefined.

  // Returns whether the chains have reached their target, as far as R̂ can tell.
  bool converged() const { return rhat <= kConvergedRhat; }
  std::string label(const std::string& without = "") const;  // Formats "pafs radius=5".
};

// Selects the repeats of a cell that count. A setting chosen on the first half is judged on the
// second half, so that the luck that made it the best does not count. The middle one of an odd
// number of repeats belongs to the second half.
enum class Repeats { kAll, kFirstHalf, kSecondHalf };

// Returns the settings of the rows, in their order, with one metric. Leaves out settings that
// failed in every repeat.
std::vector<Setting> pooled(const nlohmann::ordered_json& rows, const std::string& metric,
                            Repeats which = Repeats::kAll);

// Returns the number of repeats in the grid, finished or not.
int64_t repeats_of(const nlohmann::ordered_json& rows);

std::vector<std::string> model_labels(const nlohmann::ordered_json& rows);

// Returns one line per cell with all settings and metrics as columns. Undefined numbers are empty.
std::string rows_csv(const nlohmann::ordered_json& rows);

}  // namespace isinglass
