// Writes the section of a page for a grid (isinglass ablate): claims, then for every model the
// measured numbers, ESS as a function of settings, energy traces and autocorrelations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "io/error.h"
#include "lab/grid/rows.h"
#include "lab/grid/rules/side.h"
#include "lab/page/page.h"
#include "lab/report/grid_claims.h"
#include "lab/report/grid_curves.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

bool better(const Metric& metric, double a, double b) {
  return metric.higher_is_better ? a > b : a < b;
}

// Returns the settings of one model with one metric, if it is defined.
std::vector<Setting> of_model(const std::vector<Row>& rows, const std::string& metric,
                              const std::string& model, Repeats which = Repeats::kAll) {
  std::vector<Setting> own;
  for (const Setting& setting : pooled(rows, metric, which)) {
    if (setting.model == model && std::isfinite(setting.estimate.value)) own.push_back(setting);
  }
  return own;
}

// Returns whether the setting's number counts as a measurement. Unconverged chains say nothing
// about properties of the equilibrium.
bool counts(const Setting& setting, const Metric& metric) {
  return !metric.at_equilibrium || setting.converged();
}

// Returns the best setting of each sampler, among the settings that count, or among all if none
// counts.
std::vector<Setting> best_of_samplers(const std::vector<Setting>& settings, const Metric& metric) {
  std::vector<Setting> best;
  const auto precedes = [&](const Setting& a, const Setting& b) {
    if (counts(a, metric) != counts(b, metric)) return counts(a, metric);
    return better(metric, a.estimate.value, b.estimate.value);
  };
  for (const Setting& setting : settings) {
    const auto same = std::find_if(best.begin(), best.end(),
                                   [&](const Setting& s) { return s.sampler == setting.sampler; });
    if (same == best.end()) {
      best.push_back(setting);
    } else if (precedes(setting, *same)) {
      *same = setting;
    }
  }
  return best;
}

// Returns the label of the setting that is better than every other by the rule of claims: it is the
// best on the first half of the repeats, and on the second half, of at least three repeats, its 95
// % interval against each other setting excludes 0. Returns an empty label if there is no such
// setting or if not all settings have converged.
std::string clear_winner(const std::vector<Row>& rows, const Metric& metric,
                         const std::string& model) {
  const std::vector<Setting> all = of_model(rows, metric.key, model);
  if (all.size() < 2) return "";
  for (const Setting& setting : all) {
    if (!counts(setting, metric)) return "";
  }
  const std::vector<Setting> choosing = of_model(rows, metric.key, model, Repeats::kFirstHalf),
                             judging = of_model(rows, metric.key, model, Repeats::kSecondHalf);
  if (choosing.size() < all.size() || judging.size() < all.size()) return "";
  const auto first =
      std::min_element(choosing.begin(), choosing.end(), [&](const Setting& a, const Setting& b) {
        return better(metric, a.estimate.value, b.estimate.value);
      });
  const std::string label = first->label();
  const auto best = std::find_if(judging.begin(), judging.end(),
                                 [&](const Setting& s) { return s.label() == label; });
  for (const Setting& other : judging) {
    if (other.label() == label) continue;
    const Interval ahead = metric.higher_is_better ? difference(best->estimate, other.estimate)
                                                   : difference(other.estimate, best->estimate);
    if (!(ahead.low > 0) || std::min(best->repeats, other.repeats) < kLeastJudged) return "";
  }
  return label;
}

Json numbers_table(const std::vector<Row>& rows, const std::string& model) {
  std::vector<Column> columns = {{"sampler", true}};
  std::map<std::string, Json> lines;
  std::vector<std::string> order;
  for (const Setting& setting : pooled(rows, "seconds")) {
    if (setting.model != model) continue;
    order.push_back(setting.label());
    lines[order.back()] = Json::array({order.back()});
  }
  for (const Metric& metric : grid_metrics()) {
    const std::vector<Setting> settings = of_model(rows, metric.key, model);
    if (settings.empty()) continue;
    columns.push_back({metric.title});
    const std::string winner = clear_winner(rows, metric, model);
    for (auto& [label, line] : lines) line.push_back(nullptr);
    for (const Setting& setting : settings) {
      const std::string label = setting.label();
      // Settings that always failed are listed further down, with the reason.
      if (!lines.contains(label)) continue;
      lines[label].back() = {{"value", setting.estimate.value},
                             {"half", half_width(setting.estimate)},
                             {"best", label == winner}};
    }
  }
  Json body = Json::array();
  for (const std::string& label : order) body.push_back(lines[label]);
  return table("All settings", columns, body);
}

Json best_bars(const std::vector<Setting>& settings, const Metric& metric) {
  std::vector<Setting> best = best_of_samplers(settings, metric);
  std::erase_if(best, [&](const Setting& setting) { return !counts(setting, metric); });
  std::sort(best.begin(), best.end(), [&](const Setting& a, const Setting& b) {
    return better(metric, a.estimate.value, b.estimate.value);
  });
  Json bars = Json::array();
  std::vector<double> values;
  for (const Setting& setting : best) {
    values.push_back(setting.estimate.value);
    bars.push_back({{"label", setting.label()},
                    {"value", setting.estimate.value},
                    {"half", half_width(setting.estimate)}});
  }
  return bar_chart(
      metric.title + (metric.at_equilibrium ? ", best converged setting of each sampler"
                                            : ", best setting of each sampler"),
      spans(values, 30), bars);
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

// Returns the names of numeric settings that some sampler sweeps.
std::vector<std::string> swept(const std::vector<Setting>& settings) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> values;
  for (const Setting& setting : settings) {
    for (const auto& [name, value] : setting.settings) {
      if (is_number(value)) values[{setting.sampler, name}].insert(value);
    }
  }
  std::vector<std::string> names;
  for (const auto& [key, found] : values) {
    const bool known = std::find(names.begin(), names.end(), key.second) != names.end();
    if (found.size() > 1 && !known) names.push_back(key.second);
  }
  return names;
}

// Returns the metric as a function of one setting, with one series for every combination of the
// others.
Json against(const std::vector<Setting>& settings, const Metric& metric, const std::string& axis) {
  std::map<std::string, std::map<double, Estimate>> series;
  std::vector<double> all_x, all_y;
  for (const Setting& setting : settings) {
    const auto at = setting.settings.find(axis);
    if (at == setting.settings.end() || !is_number(at->second)) continue;
    const double x = std::stod(at->second);
    series[setting.label(axis)][x] = setting.estimate;
    all_x.push_back(x);
    all_y.push_back(setting.estimate.value);
  }
  Json list = Json::array();
  for (const auto& [label, line] : series) {
    std::vector<double> x, y, half;
    for (const auto& [at, estimate] : line) {
      x.push_back(at);
      y.push_back(estimate.value);
      half.push_back(half_width(estimate));
    }
    list.push_back({{"label", label}, {"x", x}, {"y", y}, {"half", half}});
  }
  return line_chart(fmt::format("{} against {}", metric.title, axis), {axis, spans(all_x, 15)},
                    {metric.title, spans(all_y, 30)}, list);
}

// Returns at most three metrics, those of the claims first.
std::vector<std::string> charted_metrics(const Json& results) {
  std::vector<std::string> keys;
  for (const Json& claim : results["claims"]) {
    const std::string key = claim["metric"];
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  if (keys.empty()) keys = {"ess_per_evaluation", "ess_per_second"};
  keys.resize(std::min<size_t>(keys.size(), 3));
  return keys;
}

void add_model(Page& page, const Json& results, const std::vector<Row>& rows,
               const std::string& model, const Cells& cells) {
  Json list = Json::array();
  std::vector<Setting> best;
  for (const std::string& key : charted_metrics(results)) {
    const Metric& metric = find_metric(key, "results.json");
    const std::vector<Setting> settings = of_model(rows, key, model);
    if (settings.empty()) continue;
    if (best.empty()) best = best_of_samplers(settings, metric);
    list.push_back(best_bars(settings, metric));
    for (const std::string& axis : swept(settings)) list.push_back(against(settings, metric, axis));
  }
  add_curves(list, best, cells);
  std::vector<Json> pieces = {charts("", list), numbers_table(rows, model)};
  const Json images = cell_pictures(best, cells);
  if (!images.empty()) {
    const bool learned = images.front().contains("learned");
    pieces.push_back(pictures(learned ? "Chains at the end, best setting of each sampler"
                                      : "Last states of least energy, best setting of each sampler",
                              images));
  }
  page.add(model, "", pieces);
}

void add_failures(Page& page, const std::vector<Row>& rows) {
  Json failed = Json::array();
  for (const Row& row : rows) {
    if (row.done()) continue;
    failed.push_back({row.model, setting_of(row).label(), row.repeat, row.error.value_or("")});
  }
  if (failed.empty()) return;
  page.add(
      "Failed cells", "",
      {table("", {{"model", true}, {"sampler", true}, {"repeat"}, {"error", true, true}}, failed)});
}

// Lists the settings with a repeat whose evaluation stayed open. They have no likelihood in the
// tables above, as the mean over the other repeats would favour models that are easy to evaluate.
void add_open_evaluations(Page& page, const std::vector<Json>& finished) {
  const Json open = open_evaluations(finished);
  if (open.empty()) return;
  page.add("Evaluations that stayed open",
           "A setting with a repeat whose likelihood is not known has no likelihood in the tables "
           "above, because the mean over its other repeats would favour models that are easy to "
           "evaluate. The table gives the estimates from the base and from the model, which do not "
           "agree yet or cannot be trusted.",
           {table("",
                  {{"model", true},
                   {"sampler", true},
                   {"repeat"},
                   {"why", true, true},
                   {"test nats, from the base"},
                   {"from the model"}},
                  open)});
}

// Returns how much smaller than the published experiment the grid is, and by which rule.
Json scale_text(const Json& results) {
  const double scale = results["scale"];
  if (scale == 1) return "1: as published";
  const Json rules = results.value("scale_rules", Json::array());
  if (rules.empty()) {
    return fmt::format(
        "{}: the numbers of chains and steps are multiplied by {:.3g}, as far as the grid allows",
        scale, std::sqrt(scale));
  }
  std::string text = fmt::format("{}: ", scale);
  for (const Json& rule : rules) {
    text += fmt::format("{} times scale^{:g}", rule["option"].get<std::string>(),
                        rule["exponent"].get<double>());
    const double least = rule["least"];
    if (least > 0) text += fmt::format(", at least {:g}", least);
    text += "; ";
  }
  text.resize(text.size() - 2);
  return text;
}

// Returns which smaller targets replace those of the paper at this scale.
std::string smaller_text(const Json& results) {
  const Json smaller = results.value("smaller", Json::object());
  std::vector<std::string> pairs;
  for (const auto& [model, stands_for] : smaller.items()) {
    pairs.push_back(fmt::format("{} for {}", model, stands_for.get<std::string>()));
  }
  return fmt::format("{}", fmt::join(pairs, "; "));
}

void add_published(Page& page, const Json& results) {
  Json rows = Json::array();
  for (const Json& one : results.value("published", Json::array())) {
    rows.push_back({one[0], fmt::format("{:g}", one[1].get<double>())});
  }
  if (rows.empty()) return;
  page.add("Published",
           "The papers report these log-likelihoods of test images, at their own scale.",
           {table("", {{"", true}, {results.value("published_unit", "nats")}}, rows)});
}

void add_grid(Page& page, const fs::path& directory) {
  const Json results = read_json(directory / "results.json");
  const std::vector<Row> rows = rows_of(results["rows"]);
  const std::vector<Json> finished = finished_cells(directory);
  const Cells cells = first_cells(finished);
  page.title = results.value("title", "A grid");
  page.subtitle = fmt::format("isinglass ablate, grid {}", results.value("grid", "?"));
  double seconds = 0;
  for (const Row& row : rows) {
    const double taken = row.number("seconds");
    if (std::isfinite(taken)) seconds += taken;
  }
  Json shown = {{"scale", scale_text(results)}};
  if (const std::string text = smaller_text(results); !text.empty()) {
    shown["smaller targets"] = text;
  }
  if (results.value("scale_rules", Json::array()).empty()) {
    shown["chains"] = range_of(cells, "summary", "chains");
    shown["burn-in"] = range_of(cells, "summary", "burn_in");
    shown["steps"] = range_of(cells, "summary", "steps");
  } else {
    for (const char* option : {"iters", "batch", "buffer", "steps-per-iter"}) {
      shown[option] = range_of(cells, "learning", option);
    }
    for (const auto& [model, option] : {std::pair{"resnet", "channels"}, {"rbm", "hidden"}}) {
      const bool learned = std::any_of(cells.begin(), cells.end(), [&](const auto& cell) {
        return cell.second.value("learning", Json::object()).value("model", "") == model;
      });
      if (learned) shown[option] = range_of(cells, "learning", option);
    }
  }
  shown.update(Json{{"cells", fmt::format("{}, {} failed", results["cells"].get<int64_t>(),
                                          results["failed"].get<int64_t>())},
                    {"measured", fmt::format("{:.3g} s", seconds)},
                    {"device", results["device"]},
                    {"threads", results["threads"]},
                    {"seed", results["seed"]},
                    {"version", results["version"]}});
  page.add("", "", {facts(std::move(shown))});
  add_published(page, results);
  add_claims(page, results["claims"], rows);
  for (const std::string& model : model_labels(rows)) {
    add_model(page, results, rows, model, cells);
  }
  add_open_evaluations(page, finished);
  add_failures(page, rows);
}

}  // namespace

std::vector<Section> grid_sections() {
  return {{"results.json", add_grid}};
}

}  // namespace isinglass::report
