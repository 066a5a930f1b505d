// Finds presets, which are part of the program: the grids of the papers (lab/presets/grids/), the
// configurations of training (lab/presets/training/) and recipes (lab/presets/recipes/).
#pragma once

#include <string>
#include <vector>

#include "lab/embedded.h"

namespace isinglass {

// Both take all presets of a kind: grid_presets(), training_presets() or recipe_presets().
std::vector<std::string> preset_names(const std::vector<EmbeddedFile>& presets);
// Returns the text (TOML) of a preset. Throws Error, naming all presets, for other names; `what` is
// the word for one in the message.
const std::string& preset_text(const std::vector<EmbeddedFile>& presets, const std::string& name,
                               const std::string& what = "preset");

}  // namespace isinglass
