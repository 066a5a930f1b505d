// The run directory of a training run:
//   metrics.jsonl            a line per iteration (metrics_file.h)
//   log.txt                  the events of the run, with their times
//   data.png                 training images
//   samples/NNNNNNNN.png     chains of the buffer at an iteration
//   checkpoints/NNNNNNNN.pt  the whole state (checkpoint.h): the two latest ones, and those that a
//                            diverging run may go back to
//   weights.pt, ema.pt       raw and averaged parameters of the latest checkpoint
//   best.pt                  averaged parameters of the best validation score
// The program itself writes config.toml, the resolved configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isinglass {

// Returns the iteration of a file checkpoints/NNNNNNNN.pt.
int64_t iteration_of(const std::filesystem::path& checkpoint);

class RunDirectory {
 public:
  // Makes the directory of a new run. Throws Error if the directory holds checkpoints or cannot be
  // made.
  static RunDirectory create(const std::filesystem::path& path);
  // Opens the directory of an earlier run. Throws Error if it has no checkpoints.
  static RunDirectory open(const std::filesystem::path& path);

  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::filesystem::path checkpoint_file(int64_t iteration) const;
  std::filesystem::path samples_file(int64_t iteration) const;

  // Returns the checkpoints, oldest first.
  std::vector<std::filesystem::path> checkpoints() const;
  // Removes all checkpoints except the two latest ones and the two latest of those whose iteration
  // is a multiple of `spacing` (0: none are kept for that).
  void remove_old_checkpoints(int64_t spacing) const;
  void remove_checkpoints_after(int64_t iteration) const;  // removes the latest first
  // Returns the latest checkpoint of at most `iteration` whose iteration is a multiple of
  // `spacing`; if there is none, the latest checkpoint of at most `iteration`; if there is none
  // either, the oldest checkpoint. The directory must hold a checkpoint.
  std::filesystem::path recovery_point(int64_t iteration, int64_t spacing) const;

  // Renames a checkpoint that cannot be read to NAME.unreadable, so that it no longer counts as
  // one.
  void set_aside(const std::filesystem::path& checkpoint) const;

  // Appends a line to log.txt, with the time (UTC). Throws Error naming the file if it cannot be
  // written.
  void log(const std::string& message) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace isinglass
