// Implements the folders for stale cells.
#include "lab/grid/cells/stale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// Returns a folder that does not exist yet, named by the revision. The revision comes from a file,
// so that its characters are sanitised.
fs::path unused_folder(const fs::path& directory, std::string revision) {
  std::replace_if(
      revision.begin(), revision.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.'; }, '_');
  const fs::path plain = directory / ("stale-" + (revision.empty() ? "unknown" : revision));
  fs::path folder = plain;
  for (int number = 2; fs::exists(folder); ++number) {
    folder = fmt::format("{}-{}", plain.string(), number);
  }
  return folder;
}

}  // namespace

void set_aside(const fs::path& directory, const std::vector<StaleCell>& cells,
               const OnStale& announce) {
  std::map<std::string, fs::path> folders;
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const StaleCell& cell : cells) {
    const auto [folder, is_new] = folders.try_emplace(cell.revision);
    if (is_new) folder->second = unused_folder(directory, cell.revision);
    ++counts[{cell.reason, cell.revision}];
  }
  for (const auto& [of, count] : counts) {
    if (announce) announce(count, of.first, folders.at(of.second));
  }
  for (const StaleCell& cell : cells) {
    for (const fs::path& path : cell.paths) {
      const fs::path target = folders.at(cell.revision) / fs::relative(path, directory);
      fs::create_directories(target.parent_path());
      fs::rename(path, target);
    }
  }
}

}  // namespace isinglass
