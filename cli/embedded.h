// Files that are part of the program: the build turns them into text (isinglass_embed).
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct EmbeddedFile {
  std::string name;  // without folder and extension
  std::string text;
};

const std::vector<EmbeddedFile>& grid_presets();  // cli/presets/*.toml

}  // namespace isinglass
