// Moves aside cells of a grid that no longer count, because the program, the data or the time limit
// has changed, together with what they trained. Nothing is deleted.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace isinglass {

struct StaleCell {
  std::vector<std::filesystem::path> paths;  // They lie in the grid's directory.
  // These are the reason and the revision of the program that made them.
  std::string reason, revision;
};

// Announces that this many cells are measured again, why, and the folder that receives the old
// ones.
using OnStale =
    std::function<void(int64_t cells, const std::string& why, const std::filesystem::path& folder)>;

// Announces all stale cells, then moves them to stale-REVISION/ in the directory. If that folder
// exists, the name is stale-REVISION-2/ and so on.
void set_aside(const std::filesystem::path& directory, const std::vector<StaleCell>& cells,
               const OnStale& announce);

}  // namespace isinglass
