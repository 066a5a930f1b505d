// The output directory of a run. It is refused before work starts if it already holds a run. If the
// run ends in a user's error before anything worth keeping exists, its files are removed, so that
// no incomplete output remains.
//
// A directory holds a run if the first line of its config.toml is this program's; that line names
// the command. Then exactly the files that runs of this command write belong to the run.
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
  // Returns true if torchrun has restarted the job after the job had begun the run of --out.
  static bool begun_before(const Options& options);

  // Takes the directory of --resume, or else of --out, or else the first unused one of
  // runs/sample-1, runs/sample-2, …, and changes nothing there. Throws Error if --out is a file, if
  // it holds a run and --overwrite is not given, or if it holds something that does not belong to a
  // run and has a name that this run writes. A restarted job resumes its own run or starts it over.
  // With several ranks, only the first one accesses the directory.
  explicit OutputDirectory(const Options& options);

  // Makes the directory (with --overwrite, after the earlier run's files are removed), writes
  // config.toml with the resolved settings of the run (Options::of_run) and does the work. Throws
  // Error if another process is writing a run there. If the work ends in anything but a numerical
  // failure or an interruption, on this rank or another, the run's files and the directories made
  // are removed, unless keep() was called or the run was resumed.
  void fill(const OptionValues& run, const std::function<void()>& work);

  // Marks the run as worth keeping, whatever happens next. `how` ends the line of a failure: it
  // says what is kept and how to resume.
  void keep(const std::string& how);

  std::filesystem::path file(const std::string& name) const { return path() / name; }
  const std::filesystem::path& path() const { return run_->directory; }

 private:
  void lock();
  void create();

  // The files of the run, which are removed if there is nothing to keep: at the end of fill(), or
  // when the job ends the process (engine/ranks/job.h).
  struct Run {
    Run(std::string command, std::filesystem::path directory)
        : command(std::move(command)), directory(std::move(directory)) {}
    void discard() const;

    std::string command;
    std::filesystem::path directory;
    int made = 0;  // number of directory levels that create() makes
    std::atomic<bool> keep = false;
  };

  const Command& command_;
  bool resumed_;
  std::shared_ptr<Run> run_;
  bool held_run_ = false;    // whether the directory held a run before this one
  bool says_where_ = false;  // true if the user has not chosen the directory
  std::string kept_;
  FolderLock lock_;
};

}  // namespace isinglass
