// Implements the ends of sweeps.
#include "lab/grid/rules/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "engine/registry.h"
#include "lab/grid/entries.h"

namespace isinglass {
namespace {

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

}  // namespace isinglass
