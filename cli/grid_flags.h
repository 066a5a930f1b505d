// Flags of `isinglass sample` and `isinglass train` as the entries of a grid's file give them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/options.h"

namespace isinglass {

using Flags = std::vector<std::pair<std::string, std::string>>;  // name without dashes, value

std::string* find_flag(Flags& flags, const std::string& name);  // null: absent
std::string flag_or(Flags& flags, const std::string& name, const std::string& otherwise);
Flags without_flag(const Flags& flags, const std::string& name);

// Later flags stand for earlier ones of the same name.
void override_flags(Flags& flags, const Flags& more);

// Numbers that --scale makes smaller, never below `least` where they were above it; chains stay
// whole groups.
void scale_down(Flags& flags, double scale, const std::vector<std::string>& fixed = {},
                int64_t group = 1);

// Twice the burn-in and the steps, of which at most some 20 000 are kept.
void lengthen(Flags& flags);

// `calls` as `steps`, by the sampler's leapfrog steps a step. Returns the calls, 0 without any.
int64_t divide_calls(Flags& flags);

// Relative paths among the values of the command's flags start at the folder.
void start_files_at(const std::filesystem::path& folder, const Command& command, Flags& flags);

// "--name=value" for the command line.
std::vector<std::string> arguments_of(const Flags& flags);

// "radius=5, tau=0.1"
std::string settings_text(const Flags& settings);

}  // namespace isinglass
