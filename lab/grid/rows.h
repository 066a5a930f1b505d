// The rows of results.json, one a cell: {model, sampler, settings, repeat, status, error, chains,
// metrics}; chains: those that move independently of each other; metrics: numbers by the keys of
// lab/grid/metrics.h, KEY_se their standard errors, or bounds of their bias (Metric::se_is_bias).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/grid/metrics.h"

namespace isinglass {

// The repeats of a cell, together.
struct Setting {
  std::string model, sampler;
  std::map<std::string, std::string> settings;
  // The mean, with its error, degrees of freedom and bias by the rule of rules/interval.h. The
  // error is NaN where it is unknown: that of one repeat, if the metric has none.
  Estimate estimate;
  int64_t repeats = 0, failed = 0;  // all, and those that failed, which leave nothing defined
  double rhat = NAN;                // the largest one; NaN where one is undefined

  // Whether its chains have come to their target, as far as R̂ tells.
  bool converged() const { return rhat <= kConvergedRhat; }
  std::string label(const std::string& without = "") const;  // "pafs radius=5"
};

// Which of a cell's repeats count. What is chosen on the first half is compared on the second one,
// so that the luck that made it the best does not count. The middle one of an odd number is of the
// second half.
enum class Repeats { kAll, kFirstHalf, kSecondHalf };

// The cells of the rows, in their order, by one metric; nothing of settings that failed in every repeat.
std::vector<Setting> pooled(const nlohmann::ordered_json& rows, const std::string& metric,
                            Repeats which = Repeats::kAll);

// Repeats of the grid, whether or not all have finished.
int64_t repeats_of(const nlohmann::ordered_json& rows);

std::vector<std::string> model_labels(const nlohmann::ordered_json& rows);

// A line a cell, all settings and metrics as columns; undefined numbers are empty.
std::string rows_csv(const nlohmann::ordered_json& rows);

}  // namespace isinglass
