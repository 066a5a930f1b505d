// Implements the choice of a side's best setting and the ends of sweeps.
#include "lab/grid/rules/side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "engine/registry.h"
#include "lab/grid/entries.h"
#include "lab/grid/metrics.h"
#include "lab/grid/rules/rule.h"

namespace isinglass {
namespace {

using Settings = std::vector<Setting>;

std::optional<double> number_in(const Setting& setting, const std::string& option) {
  const auto found = setting.settings.find(option);
  if (found == setting.settings.end() || found->second.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

struct Range {
  double least, most;
  bool above_least;
  bool bounds(double value) const { return (value <= least && !above_least) || value >= most; }
};

// Returns the ranges that the samplers with this option allow or, if no sampler has it, the range
// of the command's option.
std::vector<Range> ranges_of(const std::string& option) {
  std::vector<Range> ranges;
  for (const SamplerEntry& sampler : sampler_registry()) {
    const SamplerOptionUse* use = sampler.option(option);
    if (use && use->most > use->least) ranges.push_back({use->least, use->most, use->above_least});
  }
  if (!ranges.empty()) return ranges;
  for (const EntryOptions* options : {&sample_options(), &train_options()}) {
    if (const Option* known = find_option(options->table, option)) {
      ranges.push_back({known->minimum, known->maximum, known->above_minimum});
    }
  }
  return ranges;
}

Settings selected(const Settings& settings, const std::string& model,
                  const std::vector<std::string>& selectors) {
  Settings found;
  for (const Setting& setting : settings) {
    const bool wanted = setting.model == model && std::any_of(selectors.begin(), selectors.end(),
                                                              [&](const std::string& selector) {
                                                                return selects(selector, setting);
                                                              });
    if (wanted) found.push_back(setting);
  }
  return found;
}

Settings defined(Settings settings) {
  std::erase_if(settings, [](const Setting& s) { return !std::isfinite(s.estimate.value); });
  return settings;
}

const Setting* find_same(const Settings& settings, const Setting& setting) {
  for (const Setting& other : settings) {
    if (other.sampler == setting.sampler && other.settings == setting.settings) return &other;
  }
  return nullptr;
}

const Setting* best_of(const Settings& settings, bool higher) {
  const auto better = [&](const Setting& a, const Setting& b) {
    return higher ? a.estimate.value < b.estimate.value : a.estimate.value > b.estimate.value;
  };
  const auto best = std::max_element(settings.begin(), settings.end(), better);
  return best == settings.end() ? nullptr : &*best;
}

// Returns each sampler's value at the largest value of the axis, divided by its best value. The
// best is chosen among `first`, and both values are taken from `second`. If the largest value of
// the axis is the best, the share is 1; it is exactly 1 (error 0) if the lead over the next best is
// significant, and otherwise has the error of the ratio of the two. A sampler with a single value
// on the axis has no share.
Settings ratios_to_best(const Settings& first, const Settings& second, const std::string& axis,
                        bool higher, double level) {
  std::map<std::string, Settings> samplers;
  for (const Setting& setting : first) {
    if (setting.settings.contains(axis)) samplers[setting.sampler].push_back(setting);
  }
  Settings ratios;
  for (auto& [name, own] : samplers) {
    const auto at = [&](const Setting& s) { return std::stod(s.settings.at(axis)); };
    const auto last = std::max_element(own.begin(), own.end(),
                                       [&](const auto& a, const auto& b) { return at(a) < at(b); });
    const Setting at_last = *last;
    const Setting *top = find_same(second, at_last),
                  *best = find_same(second, *best_of(own, higher));
    own.erase(last);
    const Setting* next = own.empty() ? nullptr : find_same(second, *best_of(own, higher));
    if (!top || !best || !next) continue;
    const Estimate& t = top->estimate;
    const Estimate& b = top == best ? next->estimate : best->estimate;
    Estimate to_other{t.value / b.value};
    to_other.error = std::abs(to_other.value) * added_errors(t.error / t.value, b.error / b.value);
    to_other.freedom = std::min(t.freedom, b.freedom);
    const double lead = higher ? to_other.value - 1 : 1 - to_other.value;
    const bool certain = top == best && lead > half_width(to_other, level);
    Setting ratio = *top;
    ratio.estimate = to_other;
    if (top == best) ratio.estimate.value = 1;
    if (certain) ratio.estimate.error = 0;
    if (!(best->rhat <= ratio.rhat)) ratio.rhat = best->rhat;
    ratios.push_back(ratio);
  }
  return ratios;
}

}  // namespace

bool selects(const std::string& selector, const Setting& setting) {
  std::istringstream in(selector);
  std::string word;
  if (!(in >> word) || word != setting.sampler) return false;
  while (in >> word) {
    const size_t equals = word.find('=');
    const auto found = setting.settings.find(word.substr(0, equals));
    if (found == setting.settings.end() || equals == std::string::npos ||
        found->second != word.substr(equals + 1)) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> fixed_by(const std::string& selector) {
  std::istringstream in(selector);
  std::string word;
  std::vector<std::string> names;
  in >> word;
  while (in >> word) names.push_back(word.substr(0, word.find('=')));
  return names;
}

std::vector<double> swept_values(const std::vector<Setting>& settings, const std::string& option) {
  std::set<double> values;
  for (const Setting& setting : settings) {
    if (const auto value = number_in(setting, option)) values.insert(*value);
  }
  return {values.begin(), values.end()};
}

bool is_own_bound(const std::string& option, double value) {
  const std::vector<Range> ranges = ranges_of(option);
  return !ranges.empty() && std::all_of(ranges.begin(), ranges.end(),
                                        [&](const Range& range) { return range.bounds(value); });
}

std::string sweep_ends(const Setting& setting, const std::vector<Setting>& settings,
                       const std::vector<std::string>& fixed, const std::string& unlimited) {
  std::vector<Setting> own;
  for (const Setting& other : settings) {
    if (other.sampler == setting.sampler) own.push_back(other);
  }
  std::string ends;
  for (const auto& [option, text] : setting.settings) {
    const auto value = number_in(setting, option);
    if (!value || std::find(fixed.begin(), fixed.end(), option) != fixed.end()) continue;
    const std::vector<double> swept = swept_values(own, option);
    const bool last = *value == swept.back() && option != unlimited;
    const bool at_end = swept.size() > 1 && (*value == swept.front() || last);
    if (!at_end || is_own_bound(option, *value)) continue;
    ends += fmt::format("{}{} = {}", ends.empty() ? "" : ", ", option, text);
  }
  return ends;
}

PooledRows pooled_rows(const std::vector<Row>& rows, const std::string& metric) {
  return {pooled(rows, metric), pooled(rows, metric, Repeats::kFirstHalf),
          pooled(rows, metric, Repeats::kSecondHalf)};
}

Side::Side(const Claim& claim, const PooledRows& rows, const std::string& model,
           const std::vector<std::string>& selectors, double level)
    : selectors_(selectors), model_(model) {
  const Metric& metric = find_metric(claim.metric, "claims");
  needs_convergence_ = metric.at_equilibrium;
  shares_ = find_claim_rule(claim.rule, "claims").shares;
  higher_number_ = metric.higher_is_better;
  higher_ = higher_number_ || shares_;
  measured_ = selected(rows.all, model, selectors);
  all_ = defined(measured_);
  for (const Setting& setting : measured_) {
    const bool known = std::isfinite(setting.estimate.value);
    if (!known && (setting.failed > 0 || metric.unknown_where_undefined)) open_.push_back(setting);
  }
  const bool choice = all_.size() > 1;
  chosen_on_ = defined(selected(choice ? rows.choosing : rows.all, model, selectors));
  compared_on_ = defined(selected(choice ? rows.judging : rows.all, model, selectors));
  numbers_ = chosen_on_;
  if (shares_) {
    const auto ratios = [&](const Settings& first, const Settings& second) {
      return ratios_to_best(first, second, claim.axis, higher_number_, level);
    };
    all_ = ratios(all_, all_);
    const Settings compared = ratios(chosen_on_, compared_on_);
    chosen_on_ = ratios(chosen_on_, chosen_on_);
    compared_on_ = compared;
  }
  choose();
  find_ends(claim.axis);
}

Settings Side::unconverged() const {
  Settings others;
  for (const Setting& s : all_) {
    const bool chosen = best_ && s.sampler == best_->sampler && s.settings == best_->settings;
    if (!converged(s) && !chosen) others.push_back(s);
  }
  return others;
}

std::string Side::missing() const {
  if (!best_ && all_.empty()) {
    return fmt::format("no defined number of {}", fmt::join(selectors_, ", "));
  }
  if (!best_) {
    return fmt::format("one repeat cannot both choose the best of {} settings of {} and judge it",
                       all_.size(), fmt::join(selectors_, ", "));
  }
  if (best_->repeats >= kLeastJudged) return "";
  return fmt::format("too few repeats: {} judged {}, and {} are needed",
                     best_->repeats == 1 ? "one" : std::to_string(best_->repeats), best_->label(),
                     kLeastJudged);
}

// Chooses among the settings that have converged, if there are any.
void Side::choose() {
  Settings candidates;
  for (const bool only_converged : {true, false}) {
    for (const Setting& s : chosen_on_) {
      const Setting* whole = find_same(all_, s);
      const bool counts = whole && find_same(compared_on_, s);
      if (counts && (!only_converged || converged(*whole))) candidates.push_back(s);
    }
    if (!candidates.empty()) break;
  }
  const Setting* chosen = best_of(candidates, higher_);
  if (!chosen) return;
  best_ = *find_same(compared_on_, *chosen);
  best_->rhat = find_same(all_, *chosen)->rhat;
}

void Side::find_ends(const std::string& axis) {
  if (!best_) return;
  if (!shares_) {
    ends_ = ends_of(*best_, "");
    return;
  }
  Settings own;
  for (const Setting& setting : numbers_) {
    if (setting.sampler == best_->sampler && setting.settings.contains(axis)) {
      own.push_back(setting);
    }
  }
  ends_ = ends_of(*best_of(own, higher_number_), axis);
}

// Returns the ends of the setting's sweeps. A setting that several selectors name is at an end only
// if it is at an end for each of them.
std::string Side::ends_of(const Setting& setting, const std::string& unlimited) const {
  std::string ends;
  for (const std::string& selector : selectors_) {
    if (!selects(selector, setting)) continue;
    ends =
        sweep_ends(setting, selected(measured_, model_, {selector}), fixed_by(selector), unlimited);
    if (ends.empty()) return "";
  }
  return ends;
}

}  // namespace isinglass
