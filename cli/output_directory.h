// The directory that a run writes to: refused before work starts if it already holds a run, and
// taken back if the run ends in a user's error with nothing worth keeping, so that nothing
// half-written stays.
//
// A directory holds a run if its config.toml is one of this program's, by its first line, which
// names the command; what the runs of that command write, and nothing else, is then the run's.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "cli/options/options.h"
#include "io/files.h"

namespace isinglass {

class OutputDirectory {
 public:
  // Whether torchrun has restarted the job after it had begun the run of --out.
  static bool begun_before(const Options& options);

  // The directory of --resume, or else of --out; touches nothing. Throws Error if --out is a file,
  // holds a run and --overwrite is not given, or holds something that is of no run and has a name
  // that this run writes. A job that is restarted goes on with its own, or begins it anew. Of several
  // ranks the first alone looks and writes.
  explicit OutputDirectory(const Options& options);

  // Makes the directory (--overwrite: without the run that it held), writes config.toml with what
  // the run is (Options::of_run) and does the work. Throws Error if another process is writing a run
  // there. If the work ends in anything but a numerical failure or an interruption, on this rank or
  // another, the run's files and the directories made are removed, unless keep() was called or the run
  // was resumed.
  void fill(const OptionValues& run, const std::function<void()>& work);

  // From here on there is something worth keeping, whatever happens; a failure's line ends in
  // `how`: what is kept, and how to go on.
  void keep(const std::string& how);

  std::filesystem::path file(const std::string& name) const { return path() / name; }
  const std::filesystem::path& path() const { return run_->directory; }

 private:
  void lock();
  void create();

  // What there is of the run, which goes if there is nothing to keep: at the end of fill(), or when
  // the job ends the process (engine/ranks/job.h).
  struct Run {
    Run(std::string command, std::filesystem::path directory)
        : command(std::move(command)), directory(std::move(directory)) {}
    void discard() const;

    std::string command;
    std::filesystem::path directory;
    int made = 0;  // levels of directories that create() makes
    std::atomic<bool> keep = false;
  };

  const Command& command_;
  bool resumed_;
  std::shared_ptr<Run> run_;
  bool held_run_ = false;  // the directory, before this run
  std::string kept_;
  FolderLock lock_;
};

}  // namespace isinglass
