// See grid_flags.h.
#include "cli/grid_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/sampler.h"

namespace isinglass {

std::string* find_flag(Flags& flags, const std::string& name) {
  for (auto& [key, value] : flags) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string flag_or(Flags& flags, const std::string& name, const std::string& otherwise) {
  const std::string* value = find_flag(flags, name);
  return value ? *value : otherwise;
}

void override_flags(Flags& flags, const Flags& more) {
  for (const auto& [name, value] : more) {
    if (std::string* old = find_flag(flags, name)) {
      *old = value;
    } else {
      flags.emplace_back(name, value);
    }
  }
}

void scale_down(Flags& flags, double scale, const std::vector<std::string>& fixed, int64_t group) {
  const std::vector<std::pair<std::string, int64_t>> least = {
      {"chains", 10}, {"steps", 200}, {"calls", 200}, {"burn-in", 100}, {"iters", 50}};
  for (const auto& [name, floor] : least) {
    std::string* text = find_flag(flags, name);
    if (std::find(fixed.begin(), fixed.end(), name) != fixed.end()) continue;
    if (!text || text->find_first_not_of("0123456789") != std::string::npos) continue;
    const double given = std::strtod(text->c_str(), nullptr);
    const auto multiple = static_cast<double>(name == "chains" ? group : 1);
    const double scaled = multiple * std::round(given * std::sqrt(scale) / multiple);
    *text = fmt::format("{:.0f}", std::min(given, std::max(scaled, static_cast<double>(floor))));
  }
}

void lengthen(Flags& flags) {
  constexpr int64_t kMostDraws = 20000;
  const auto number = [&](const char* name, const char* otherwise) {
    return static_cast<int64_t>(std::strtod(flag_or(flags, name, otherwise).c_str(), nullptr));
  };
  const int64_t steps = 2 * number("steps", "0"), thin = number("thin", "1");
  override_flags(flags, {{"burn-in", std::to_string(2 * number("burn-in", "0"))},
                         {"steps", std::to_string(steps)},
                         {"thin", std::to_string(steps / thin > kMostDraws ? 2 * thin : thin)}});
}

Flags without_flag(const Flags& flags, const std::string& name) {
  Flags kept;
  std::copy_if(flags.begin(), flags.end(), std::back_inserter(kept),
               [&](const auto& flag) { return flag.first != name; });
  return kept;
}

int64_t divide_calls(Flags& flags) {
  const std::string* given = find_flag(flags, "calls");
  if (!given) return 0;
  const int64_t calls = std::atoll(given->c_str());
  const SamplerOptionUse* leapfrog = find_sampler(flag_or(flags, "sampler", "")).option("leapfrog");
  const std::string a_step =
      flag_or(flags, "leapfrog", leapfrog ? fmt::format("{}", *leapfrog->initial) : "1");
  const int64_t steps = calls / std::max<int64_t>(1, std::atoll(a_step.c_str()));
  override_flags(flags, {{"steps", std::to_string(std::max<int64_t>(1, steps))}});
  std::erase_if(flags, [](const auto& flag) { return flag.first == "calls"; });
  return calls;
}

void start_files_at(const std::filesystem::path& folder, const Command& command, Flags& flags) {
  for (auto& [name, value] : flags) {
    for (const Option& option : command.options) {
      if (option.name == name) value = starting_at(folder, option, value);
    }
  }
}

std::vector<std::string> arguments_of(const Flags& flags) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : flags) arguments.push_back("--" + name + "=" + value);
  return arguments;
}

std::string settings_text(const Flags& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

}  // namespace isinglass
