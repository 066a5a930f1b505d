// See rows.h.
#include "lab/grid/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& metrics, const std::string& key) {
  const auto found = metrics.find(key);
  return found != metrics.end() && found->is_number() ? found->get<double>() : NAN;
}

// Beyond it float32, in which networks are evaluated, has overflowed somewhere: nothing is measured.
constexpr double kLargest = 1e30;

Estimate estimate_in(const Json& metrics, const std::string& key, double freedom) {
  const double value = number(metrics, key);
  return {std::abs(value) < kLargest ? value : NAN, number(metrics, key + "_se"), freedom};
}

// Estimates of the repeats, each with an error of `freedom` degrees of freedom.
Estimate together(const std::vector<Estimate>& repeats, bool has_error) {
  const double n = static_cast<double>(repeats.size());
  double mean = 0, within = 0, between = 0, freedom = 0;
  for (const Estimate& e : repeats) {
    mean += e.value / n;
    within += e.error * e.error;
    freedom += e.freedom;
  }
  for (const Estimate& e : repeats) between += (e.value - mean) * (e.value - mean);
  const Estimate reported = {mean, has_error ? std::sqrt(within) / n : NAN, freedom};
  if (repeats.size() == 1) return reported;
  const Estimate spread = {mean, std::sqrt(between / (n - 1) / n), n - 1};
  if (reported.error > spread.error) return reported;
  // Chains are many and repeats few: a spread within twice the error that the chains report is what
  // chance makes of it, and has the chains' degrees of freedom. (P(χ²₁ > 4) = 0.046.) An error that is
  // of no chains, as a bracket's, says nothing of the spread.
  const bool chance = std::isfinite(freedom) && spread.error <= 2 * reported.error;
  return {mean, spread.error, chance ? freedom : spread.freedom};
}

// A field of a CSV file (RFC 4180).
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
  const int64_t half = repeats_of(rows) / 2;
  std::vector<Setting> settings;
  std::vector<std::vector<Estimate>> repeats;
  for (const Json& row : rows) {
    const bool first = row["repeat"].get<int64_t>() < half;
    const bool counts = which == Repeats::kAll || (which == Repeats::kFirstHalf ? first : !first);
    if (!counts) continue;
    const Setting own{row["model"],
                      row["sampler"],
                      row["settings"].get<std::map<std::string, std::string>>(),
                      {}};
    const auto same = std::find_if(settings.begin(), settings.end(), [&](const Setting& other) {
      return other.model == own.model && other.sampler == own.sampler &&
             other.settings == own.settings;
    });
    const size_t at = static_cast<size_t>(same - settings.begin());
    if (same == settings.end()) {
      settings.push_back(own);
      settings.back().rhat = -std::numeric_limits<double>::infinity();
      repeats.emplace_back();
    }
    const bool failed = row["status"] != "done";
    const Json metrics = failed && !measured.of_failed ? Json::object() : row["metrics"];
    Setting& setting = settings[at];
    setting.failed += failed;
    const double rhat = number(metrics, "rhat");
    if (!std::isnan(setting.rhat) && !(rhat <= setting.rhat)) setting.rhat = rhat;
    const double chains = row.value("chains", std::numeric_limits<double>::infinity());
    repeats[at].push_back(estimate_in(metrics, metric, chains - 1));
  }
  for (size_t i = 0; i < settings.size(); ++i) {
    settings[i].estimate = together(repeats[i], measured.has_error);
    settings[i].repeats = static_cast<int64_t>(repeats[i].size());
  }
  // One that always fails, as a sampler that does not fit its model, has no place among the others.
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
