// Implements the look-up of presets by name.
#include "lab/presets/presets.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "lab/embedded.h"
#include "models/registry.h"

namespace isinglass {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& preset : grid_presets()) names.push_back(preset.name);
  return names;
}

const std::string& preset_text(const std::string& name) {
  for (const EmbeddedFile& preset : grid_presets()) {
    if (preset.name == name) return preset.text;
  }
  fail("unknown preset '{}'; known: {}", name,
       fmt::join(nearest_first(name, preset_names()), ", "));
}

}  // namespace isinglass
