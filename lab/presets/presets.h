// Finds presets, which are part of the program: the grids of the papers (lab/presets/grids/) and
// the configurations of training (lab/presets/training/).
#pragma once

#include <string>
#include <vector>

#include "lab/embedded.h"

namespace isinglass {

// Both take all presets of a kind: grid_presets() or training_presets().
std::vector<std::string> preset_names(const std::vector<EmbeddedFile>& presets);
// Returns the text (TOML) of a preset. Throws Error, naming all presets, for other names.
const std::string& preset_text(const std::vector<EmbeddedFile>& presets, const std::string& name);

}  // namespace isinglass
