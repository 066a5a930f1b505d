// The run directory of a training run:
//   metrics.jsonl            a line per iteration (metrics_file.h)
//   log.txt                  what happened when
//   data.png                 training images
//   samples/NNNNNNNN.png     chains of the buffer at an iteration
//   checkpoints/NNNNNNNN.pt  the whole state (checkpoint.h); the two latest, and those that a run
//                            which diverges may go back to
//   weights.pt, ema.pt       raw and averaged parameters of the latest checkpoint
//   best.pt                  averaged parameters of the best validation score
// (config.toml, the resolved configuration, is the program's.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isinglass {

class RunDirectory {
 public:
  // For a new run. Throws Error if the directory holds checkpoints or cannot be made.
  static RunDirectory create(const std::filesystem::path& path);
  // Of an earlier run. Throws Error if it has no checkpoints.
  static RunDirectory open(const std::filesystem::path& path);

  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::filesystem::path checkpoint_file(int64_t iteration) const;
  std::filesystem::path samples_file(int64_t iteration) const;

  // Oldest first.
  std::vector<std::filesystem::path> checkpoints() const;
  // All but the two latest, and the two latest of those whose iteration is a multiple of `spacing`
  // (0: these are none).
  void remove_old_checkpoints(int64_t spacing) const;
  void remove_checkpoints_after(int64_t iteration) const;  // the latest first
  // The latest multiple of `spacing` that is at most `iteration`; without one the latest checkpoint
  // that is, without that the oldest. There is a checkpoint.
  std::filesystem::path recovery_point(int64_t iteration, int64_t spacing) const;

  // Renames a checkpoint that cannot be read to NAME.unreadable, so that it is not counted as one.
  void set_aside(const std::filesystem::path& checkpoint) const;

  // Another line of log.txt, with the time (UTC). Throws Error naming it if it cannot be written.
  void log(const std::string& message) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace isinglass
