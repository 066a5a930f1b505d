// Finds the grids of the papers (lab/presets/grids/), which are part of the program.
#pragma once

#include <string>
#include <vector>

namespace isinglass {

std::vector<std::string> preset_names();

// Returns the TOML text. Throws Error that lists the known names, the nearest first.
const std::string& preset_text(const std::string& name);

}  // namespace isinglass
