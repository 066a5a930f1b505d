// Implements the pooling of repeats and the CSV file.
#include "lab/grid/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& metrics, const std::string& key) {
  const auto found = metrics.find(key);
  return found != metrics.end() && found->is_number() ? found->get<double>() : NAN;
}

// Larger values mean that float32, in which networks are evaluated, has overflowed somewhere, so
// that they count as undefined.
constexpr double kLargest = 1e30;

// Returns the number of one repeat. Its error is the reported one, or bounds its bias.
Estimate estimate_in(const Json& metrics, const Metric& metric) {
  const double value = number(metrics, metric.key), se = number(metrics, metric.key + "_se");
  Estimate one{std::abs(value) < kLargest ? value : NAN, metric.se_is_bias ? 0 : se};
  if (metric.se_is_bias) one.bias = se;
  return one;
}

// Returns the mean of the repeats, by the rule of rules/interval.h.
Estimate together(const std::vector<Estimate>& repeats, const Metric& metric) {
  const double n = static_cast<double>(repeats.size());
  // Sums differences from the first repeat, so that equal numbers have exactly their mean and no
  // spread.
  double mean = repeats.front().value, within = 0, between = 0, bias = 0;
  for (const Estimate& e : repeats) {
    mean += (e.value - repeats.front().value) / n;
    within += e.error * e.error;
    bias += e.bias / n;
  }
  for (const Estimate& e : repeats) between += (e.value - mean) * (e.value - mean);
  const double reported = metric.has_error && !metric.se_is_bias ? std::sqrt(within) / n : NAN;
  const double spread = repeats.size() > 1 ? std::sqrt(between / (n - 1) / n) : NAN;
  return {mean, std::fmax(reported, spread), n - 1, bias};
}

// Returns whether a repeat counts, given the total number of repeats.
bool counts_among(Repeats which, int64_t repeat, int64_t repeats) {
  const bool first = repeat < repeats / 2;
  return which == Repeats::kAll || (which == Repeats::kFirstHalf ? first : !first);
}

// Formats a field of a CSV file (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> setting_names(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) {
    for (const auto& [name, value] : row["settings"].items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> metric_columns() {
  std::vector<std::string> columns;
  for (const Metric& metric : grid_metrics()) {
    columns.push_back(metric.key);
    if (metric.has_error) columns.push_back(metric.key + "_se");
  }
  return columns;
}

}  // namespace

std::string Setting::label(const std::string& without) const {
  std::string text = sampler;
  for (const auto& [name, value] : settings) {
    if (name != without) text += fmt::format(" {}={}", name, value);
  }
  return text;
}

int64_t repeats_of(const Json& rows) {
  int64_t repeats = 0;
  for (const Json& row : rows) repeats = std::max(repeats, row["repeat"].get<int64_t>() + 1);
  return repeats;
}

std::vector<Setting> pooled(const Json& rows, const std::string& metric, Repeats which) {
  const Metric& measured = find_metric(metric, "metrics");
  const int64_t all = repeats_of(rows);
  std::vector<Setting> settings;
  std::vector<std::vector<Estimate>> repeats;
  std::map<std::tuple<std::string, std::string, std::map<std::string, std::string>>, size_t> places;
  for (const Json& row : rows) {
    if (!counts_among(which, row["repeat"].get<int64_t>(), all)) continue;
    const Setting own{row["model"],
                      row["sampler"],
                      row["settings"].get<std::map<std::string, std::string>>(),
                      {}};
    const auto [place, is_new] =
        places.try_emplace({own.model, own.sampler, own.settings}, settings.size());
    if (is_new) {
      settings.push_back(own);
      settings.back().rhat = -std::numeric_limits<double>::infinity();
      repeats.emplace_back();
    }
    const bool failed = row["status"] != "done";
    const Json nothing = Json::object();
    const Json& metrics = failed && !measured.of_failed ? nothing : row["metrics"];
    Setting& setting = settings[place->second];
    setting.failed += failed;
    const double rhat = number(metrics, "rhat");
    if (!std::isnan(setting.rhat) && !(rhat <= setting.rhat)) setting.rhat = rhat;
    repeats[place->second].push_back(estimate_in(metrics, measured));
  }
  for (size_t i = 0; i < settings.size(); ++i) {
    settings[i].estimate = together(repeats[i], measured);
    settings[i].repeats = static_cast<int64_t>(repeats[i].size());
  }
  // Drops settings that always fail, such as a sampler that does not fit its model.
  std::erase_if(settings,
                [&](const Setting& s) { return s.failed == s.repeats && !measured.of_failed; });
  return settings;
}

std::vector<std::string> model_labels(const Json& rows) {
  std::vector<std::string> labels;
  for (const Json& row : rows) {
    const std::string label = row["model"];
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  return labels;
}

std::string rows_csv(const Json& rows) {
  const std::vector<std::string> settings = setting_names(rows), metrics = metric_columns();
  std::vector<std::string> head = {"model", "sampler"};
  head.insert(head.end(), settings.begin(), settings.end());
  head.insert(head.end(), {"repeat", "status", "error"});
  head.insert(head.end(), metrics.begin(), metrics.end());
  std::string csv = fmt::format("{}\n", fmt::join(head, ","));
  for (const Json& row : rows) {
    std::vector<std::string> fields = {field(row["model"]), field(row["sampler"])};
    for (const std::string& name : settings)
      fields.push_back(field(row["settings"].value(name, "")));
    fields.push_back(std::to_string(row["repeat"].get<int64_t>()));
    fields.push_back(row["status"]);
    fields.push_back(field(row.value("error", "")));
    for (const std::string& key : metrics) {
      const double value = number(row.value("metrics", Json::object()), key);
      fields.push_back(std::isfinite(value) ? fmt::format("{}", value) : "");
    }
    csv += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return csv;
}

}  // namespace isinglass
