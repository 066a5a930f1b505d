// Cells of a grid that do not count any more, because the program, its data or its time are others:
// they are moved aside, with what they trained, and never deleted.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace isinglass {

struct StaleCell {
  std::vector<std::filesystem::path> paths;  // files and folders in the grid's directory
  std::string reason, revision;              // why, and of the program that made them
};

// So many cells are measured again, why, and the folder that gets what they were.
using OnStale =
    std::function<void(int64_t cells, const std::string& why, const std::filesystem::path& folder)>;

// Moves them to stale-REVISION/ of the directory, or, where that is taken, to stale-REVISION-2/ and
// so on, after all were announced.
void set_aside(const std::filesystem::path& directory, const std::vector<StaleCell>& cells,
               const OnStale& announce);

}  // namespace isinglass
