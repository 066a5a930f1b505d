// Files that are part of the program: the build turns them into text (isinglass_embed).
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct EmbeddedFile {
  std::string name;  // without its folder
  std::string text;
};

const std::vector<EmbeddedFile>& grid_presets();  // lab/presets/grids/*.toml, without extension
const std::vector<EmbeddedFile>& report_files();  // of lab/report/, and the charting library

}  // namespace isinglass
