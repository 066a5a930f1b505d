// Reads, pools and writes the rows of results.json. There is one row per cell: {model, sampler,
// settings, repeat, status[, error][, chains], metrics}.
//
// Claims and pages have the same confidence intervals of measured numbers. A number is the mean of
// n repeats. Its error is the larger of the error that the repeats report and the error that their
// spread shows. It always has n − 1 degrees of freedom, as the error reported by the chains of one
// run does not cover differences between runs. A single repeat has no interval. Quantiles are those
// of Student's t distribution, with Welch's degrees of freedom for differences. A bias, such as
// half of a likelihood's bracket, does not shrink with the number of repeats and is added to the
// half-width.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/grid/metrics.h"

namespace isinglass {

// Holds what results.json keeps of a cell.
struct Row {
  std::string model, sampler;
  nlohmann::ordered_map<std::string, std::string> settings;
  int64_t repeat = 0;
  std::string status;  // It is "done" or "failed".
  std::optional<std::string> error = {};
  std::optional<int64_t> chains = {};  // Counts the chains that move independently of each other.
  // Holds numbers by the keys of lab/grid/metrics.h, NaN if they are undefined. KEY_se is the
  // standard error, or the bound of the bias (Metric::se_is_bias).
  nlohmann::ordered_map<std::string, double> metrics = {};

  bool done() const { return status == "done"; }
  double number(const std::string& key) const;  // Returns a metric, or NaN if the row lacks it.
};

// Reads a row of results.json or the file of a cell, which contains more. Throws a JSON exception
// if it is damaged.
Row row_of(const nlohmann::ordered_json& cell);
std::vector<Row> rows_of(const nlohmann::ordered_json& rows);
nlohmann::ordered_json rows_json(const std::vector<Row>& rows);

// Combines the repeats of a cell.
struct Setting {
  std::string model, sampler;
  std::map<std::string, std::string> settings;
  // Holds the mean over the repeats, with its error, degrees of freedom and bias by the rule
  // above. The error is NaN if it is unknown, as for one repeat of a metric without an error.
  Estimate estimate;
  // These count all repeats, and the failed ones, which leave no defined number.
  int64_t repeats = 0, failed = 0;
  double rhat = NAN;  // Holds the largest R̂, or NaN if one is undefined.

  // Returns whether the chains have reached their target, as far as R̂ can tell.
  bool converged() const { return rhat <= kConvergedRhat; }
  std::string label(const std::string& without = "") const;  // Formats "pafs radius=5".
};

// Returns the setting of a row, without numbers.
Setting setting_of(const Row& row);

// Selects the repeats of a cell that count. A setting chosen on the first half is judged on the
// second half, so that the luck that made it the best does not count. The middle one of an odd
// number of repeats belongs to the second half.
enum class Repeats { kAll, kFirstHalf, kSecondHalf };

// Returns the settings of the rows, in their order, with one metric. Leaves out settings that
// failed in every repeat.
std::vector<Setting> pooled(const std::vector<Row>& rows, const std::string& metric,
                            Repeats which = Repeats::kAll);

inline constexpr double kLevel = 0.95;  // A single interval has this level.

// Holds the interval of a difference, which is positive if the first number is better.
struct Interval {
  double low, high;
};

// Returns half the width of the two-sided interval, or NaN if the error or its degrees of freedom
// are unknown.
double half_width(const Estimate& estimate, double level = kLevel);

// Returns the interval of first − second for independent estimates.
Interval difference(const Estimate& first, const Estimate& second, double level = kLevel);

// Returns the number of repeats in the grid, finished or not.
int64_t repeats_of(const std::vector<Row>& rows);

std::vector<std::string> model_labels(const std::vector<Row>& rows);

// Returns one line per cell with all settings and metrics as columns. Undefined numbers are empty.
std::string rows_csv(const std::vector<Row>& rows);

}  // namespace isinglass
