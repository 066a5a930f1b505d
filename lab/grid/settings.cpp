// Implements the changes of settings.
#include "lab/grid/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "engine/sampler.h"

namespace isinglass {

void override_values(OptionValues& values, const OptionValues& more) {
  for (const auto& [name, value] : more) values.insert_or_assign(name, value);
}

std::string text_or(const OptionValues& values, const std::string& name,
                    const std::string& otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : value_text(found->second);
}

void scale_down(OptionValues& values, double scale, const std::vector<std::string>& fixed,
                int64_t group) {
  const std::vector<std::pair<std::string, int64_t>> least = {
      {"chains", 10}, {"steps", 200}, {"calls", 200}, {"burn-in", 100}, {"iters", 50}};
  for (const auto& [name, floor] : least) {
    const auto found = values.find(name);
    if (found == values.end() || std::find(fixed.begin(), fixed.end(), name) != fixed.end()) {
      continue;
    }
    auto& number = std::get<int64_t>(found->second);
    const auto given = static_cast<double>(number);
    const auto multiple = static_cast<double>(name == "chains" ? group : 1);
    const double scaled = multiple * std::round(given * std::sqrt(scale) / multiple);
    number = std::llround(std::min(given, std::max(scaled, static_cast<double>(floor))));
  }
}

int64_t divide_calls(OptionValues& values) {
  const auto found = values.find("calls");
  if (found == values.end()) return 0;
  const int64_t calls = std::get<int64_t>(found->second);
  values.erase(found);
  const SamplerOptionUse* own = find_sampler(text_or(values, "sampler", "")).option("leapfrog");
  double leapfrog = own ? *own->initial : 1;
  const auto said = values.find("leapfrog");
  if (said != values.end()) leapfrog = std::get<double>(said->second);
  const int64_t steps = calls / std::max<int64_t>(1, static_cast<int64_t>(leapfrog));
  values["steps"] = std::max<int64_t>(1, steps);
  return calls;
}

void lengthen(SampleSpec& spec) {
  constexpr int64_t kMostDraws = 20000;
  spec.burn_in *= 2;
  spec.steps = 2 * spec.steps.value_or(0);
  if (*spec.steps / spec.thin > kMostDraws) spec.thin *= 2;
}

std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

}  // namespace isinglass
