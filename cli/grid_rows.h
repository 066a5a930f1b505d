// The rows of results.json, one a cell: {model, sampler, settings, repeat, status, error, metrics},
// metrics being numbers by the keys of cli/metrics.h, KEY_se their standard errors.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/metrics.h"

namespace isinglass {

// The repeats of a cell, together: the mean, with the larger one of the error that the repeats
// report and the one that their spread shows.
struct Setting {
  std::string model, sampler;
  std::map<std::string, std::string> settings;
  Estimate estimate;  // error 0 where the metric has none, NaN where it is unknown, of one repeat
};

// The finished cells of the rows, in their order, by one metric.
std::vector<Setting> pooled(const nlohmann::ordered_json& rows, const std::string& metric);

std::vector<std::string> model_labels(const nlohmann::ordered_json& rows);

// A line a cell, all settings and metrics as columns; undefined numbers are empty.
std::string rows_csv(const nlohmann::ordered_json& rows);

}  // namespace isinglass
