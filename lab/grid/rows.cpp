// Implements the reading, the pooling and the writing of rows, and their intervals.
#include "lab/grid/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// Larger values mean that float32, in which networks are evaluated, has overflowed somewhere, so
// that they count as undefined.
constexpr double kLargest = 1e30;

// Returns the number of one repeat. Its error is the reported one, or bounds its bias.
Estimate estimate_in(const Row& row, const Metric& metric) {
  const double value = row.number(metric.key), se = row.number(metric.key + "_se");
  Estimate one{std::abs(value) < kLargest ? value : NAN, metric.se_is_bias ? 0 : se};
  if (metric.se_is_bias) one.bias = se;
  return one;
}

// Returns the mean of the repeats, by the rule of rows.h.
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

// Returns the half-width of an interval in standard errors, or NaN below one degree of freedom.
double reach(double freedom, double level) {
  if (!(freedom >= 1)) return NAN;
  return boost::math::quantile(boost::math::students_t(freedom), (1 + level) / 2);
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

std::vector<std::string> setting_names(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.settings) {
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

double Row::number(const std::string& key) const {
  const auto found = metrics.find(key);
  return found == metrics.end() ? NAN : found->second;
}

Row row_of(const Json& cell) {
  Row row{.model = cell.at("model"),
          .sampler = cell.at("sampler"),
          .settings = {},
          .repeat = cell.at("repeat"),
          .status = cell.at("status")};
  for (const auto& [name, value] : cell.at("settings").items()) {
    row.settings.emplace(name, value.get<std::string>());
  }
  if (cell.contains("error")) row.error = cell["error"].get<std::string>();
  if (cell.contains("chains")) row.chains = cell["chains"].get<int64_t>();
  for (const auto& [key, value] : cell.at("metrics").items()) {
    row.metrics.emplace(key, value.is_number() ? value.get<double>() : NAN);
  }
  return row;
}

std::vector<Row> rows_of(const Json& rows) {
  std::vector<Row> all;
  for (const Json& row : rows) all.push_back(row_of(row));
  return all;
}

Json rows_json(const std::vector<Row>& rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json settings = Json::object(), metrics = Json::object();
    for (const auto& [name, value] : row.settings) settings[name] = value;
    for (const auto& [key, value] : row.metrics) {
      metrics[key] = std::isfinite(value) ? Json(value) : Json();
    }
    Json json = {{"model", row.model},
                 {"sampler", row.sampler},
                 {"settings", settings},
                 {"repeat", row.repeat},
                 {"status", row.status}};
    if (row.error) json["error"] = *row.error;
    if (row.chains) json["chains"] = *row.chains;
    json["metrics"] = metrics;
    all.push_back(std::move(json));
  }
  return all;
}

Setting setting_of(const Row& row) {
  return {row.model, row.sampler, {row.settings.begin(), row.settings.end()}, {}};
}

std::string Setting::label(const std::string& without) const {
  std::string text = sampler;
  for (const auto& [name, value] : settings) {
    if (name != without) text += fmt::format(" {}={}", name, value);
  }
  return text;
}

int64_t repeats_of(const std::vector<Row>& rows) {
  int64_t repeats = 0;
  for (const Row& row : rows) repeats = std::max(repeats, row.repeat + 1);
  return repeats;
}

std::vector<Setting> pooled(const std::vector<Row>& rows, const std::string& metric,
                            Repeats which) {
  const Metric& measured = find_metric(metric, "metrics");
  const int64_t all = repeats_of(rows);
  std::vector<Setting> settings;
  std::vector<std::vector<Estimate>> repeats;
  std::map<std::tuple<std::string, std::string, std::map<std::string, std::string>>, size_t> places;
  const Row nothing;
  for (const Row& row : rows) {
    if (!counts_among(which, row.repeat, all)) continue;
    const Setting own = setting_of(row);
    const auto [place, is_new] =
        places.try_emplace({own.model, own.sampler, own.settings}, settings.size());
    if (is_new) {
      settings.push_back(own);
      settings.back().rhat = -std::numeric_limits<double>::infinity();
      repeats.emplace_back();
    }
    const Row& counted = !row.done() && !measured.of_failed ? nothing : row;
    Setting& setting = settings[place->second];
    setting.failed += !row.done();
    const double rhat = counted.number("rhat");
    if (!std::isnan(setting.rhat) && !(rhat <= setting.rhat)) setting.rhat = rhat;
    repeats[place->second].push_back(estimate_in(counted, measured));
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

double half_width(const Estimate& estimate, double level) {
  if (estimate.error == 0) return estimate.bias;
  return reach(estimate.freedom, level) * estimate.error + estimate.bias;
}

Interval difference(const Estimate& first, const Estimate& second, double level) {
  const double a = first.error * first.error, b = second.error * second.error;
  // A number without error contributes nothing to Welch's degrees of freedom.
  const double shares = (a > 0 ? a * a / first.freedom : 0) + (b > 0 ? b * b / second.freedom : 0);
  const double middle = first.value - second.value, bias = first.bias + second.bias;
  if (a + b == 0) return {middle - bias, middle + bias};
  const double half = reach((a + b) * (a + b) / shares, level) * std::sqrt(a + b) + bias;
  return {middle - half, middle + half};
}

std::vector<std::string> model_labels(const std::vector<Row>& rows) {
  std::vector<std::string> labels;
  for (const Row& row : rows) {
    if (std::find(labels.begin(), labels.end(), row.model) == labels.end()) {
      labels.push_back(row.model);
    }
  }
  return labels;
}

std::string rows_csv(const std::vector<Row>& rows) {
  const std::vector<std::string> settings = setting_names(rows), metrics = metric_columns();
  std::vector<std::string> head = {"model", "sampler"};
  head.insert(head.end(), settings.begin(), settings.end());
  head.insert(head.end(), {"repeat", "status", "error"});
  head.insert(head.end(), metrics.begin(), metrics.end());
  std::string csv = fmt::format("{}\n", fmt::join(head, ","));
  for (const Row& row : rows) {
    std::vector<std::string> fields = {field(row.model), field(row.sampler)};
    for (const std::string& name : settings) {
      const auto found = row.settings.find(name);
      fields.push_back(found == row.settings.end() ? "" : field(found->second));
    }
    fields.push_back(std::to_string(row.repeat));
    fields.push_back(row.status);
    fields.push_back(field(row.error.value_or("")));
    for (const std::string& key : metrics) {
      const double value = row.number(key);
      fields.push_back(std::isfinite(value) ? fmt::format("{}", value) : "");
    }
    csv += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return csv;
}

}  // namespace isinglass
