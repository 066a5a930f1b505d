// Gives access to files that are part of the program. The build turns them into text
// (isinglass_embed).
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct EmbeddedFile {
  std::string name;  // Holds the file name without its folder.
  std::string text;
};

// Returns the grids in lab/presets/grids/*.toml, named without their extension.
const std::vector<EmbeddedFile>& grid_presets();
// Returns the configurations in lab/presets/training/*.toml, named without their extension.
const std::vector<EmbeddedFile>& training_presets();
// Returns the recipes in lab/presets/recipes/*.toml (cli/commands/recipe.cpp), named likewise.
const std::vector<EmbeddedFile>& recipe_presets();
// Returns the files in lab/page/ that pages are made of, and the charting library.
const std::vector<EmbeddedFile>& report_files();

}  // namespace isinglass
