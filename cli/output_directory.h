// The directory that a run writes to: refused before work starts if it already holds a run, and
// taken back if the run ends in a user's error, so that nothing half-written stays.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cli/options.h"

namespace isinglass {

class OutputDirectory {
 public:
  // The directory of --resume, or else of --out; touches nothing. Throws Error if --out is a file,
  // or a directory that holds a run and --overwrite is not given.
  explicit OutputDirectory(const Options& options);

  // Makes the directory (--overwrite: without the run that it held), writes config.toml and does
  // the work. If that ends in anything but a numerical failure or an interruption, the run's files
  // and the directories made are removed, unless keep() was called or the run was resumed.
  void fill(const Options& options, const std::function<void()>& work);

  // From here on there is something worth keeping, whatever happens.
  void keep() { keep_ = true; }

  std::filesystem::path file(const std::string& name) const { return directory_ / name; }
  const std::filesystem::path& path() const { return directory_; }

 private:
  void create();
  void discard() const;

  std::filesystem::path directory_;
  int made_ = 0;  // levels of directories that create() makes
  bool resumed_ = false, keep_ = false;
};

// The newest of a training run's checkpoints/NNNNNNNN.pt; empty if there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& directory);

}  // namespace isinglass
