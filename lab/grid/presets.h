// The grids of the papers, which are part of the program: lab/presets/grids/.
#pragma once

#include <string>
#include <vector>

namespace isinglass {

std::vector<std::string> preset_names();

// The TOML text. Throws Error that lists the known names, the nearest first.
const std::string& preset_text(const std::string& name);

}  // namespace isinglass
