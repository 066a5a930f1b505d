// Downloads published data sets, for `isinglass data fetch`. Every file is checked before it gets
// its name; an interrupted download is continued by the next call (io/continued_file.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/data/readers.h"

namespace isinglass {

struct FetchOptions {
  std::filesystem::path data_dir;
  std::string mirror = "";  // a copy of a data folder at this address, which is tried first
  int64_t timeout = 60;     // [s] for which a server may send nothing
};

// Called about ten times a second for the file that is being downloaded, with its bytes so far and
// in all, 0 if these are unknown. Returns false to stop.
using FetchWatch =
    std::function<bool(const std::filesystem::path& file, int64_t bytes, int64_t total)>;

struct Fetched {
  std::vector<std::filesystem::path> downloaded;  // the files that were missing
  bool stopped = false;                           // the watcher stopped it
};

// Downloads the files of the set that are missing in its folder, and checks the checksums of those
// that are there. Does nothing if the set can be read from other files, such as those of a package.
// Throws Error if a file that is there is not the published one (it is left as it is), or if no
// address sends the published one; the message names every address and what was wrong.
Fetched fetch_dataset(const DatasetEntry& entry, const FetchOptions& options,
                      const FetchWatch& watch);

// Returns the addresses of a file in the order in which they are tried: that of the mirror, the
// published ones, and the Internet Archive's copy of the first of them.
std::vector<std::string> addresses_of(const Publication& publication, const std::string& file,
                                      const std::string& mirror);

// Says whether the set can be read.
enum class DatasetState { kPresent, kMissing, kDamaged };
struct DatasetFinding {
  DatasetState state;
  std::string text = {};  // where the set was read from, or why it cannot be read
};
DatasetFinding examine_dataset(const DatasetEntry& entry, const std::filesystem::path& data_dir);

}  // namespace isinglass
