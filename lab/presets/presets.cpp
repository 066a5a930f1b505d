// Implements the look-up of presets by name.
#include "lab/presets/presets.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

std::vector<std::string> preset_names(const std::vector<EmbeddedFile>& presets) {
  std::vector<std::string> names;
  for (const EmbeddedFile& preset : presets) names.push_back(preset.name);
  return names;
}

const std::string& preset_text(const std::vector<EmbeddedFile>& presets, const std::string& name,
                               const std::string& what) {
  for (const EmbeddedFile& preset : presets) {
    if (preset.name == name) return preset.text;
  }
  fail("unknown {} '{}'; known: {}", what, name,
       fmt::join(nearest_first(name, preset_names(presets)), ", "));
}

}  // namespace isinglass
