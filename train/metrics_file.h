// metrics.jsonl: one JSON object per iteration, with the names of metrics.h and `iteration`.
#pragma once

#include <filesystem>
#include <string>

#include "train/metrics.h"

namespace isinglass {

// Returns one JSON object without the newline. Numbers that are not finite become null.
std::string json_line(const Metrics& metrics);

class MetricsFile : public TrainObserver {
 public:
  explicit MetricsFile(std::filesystem::path file) : file_(std::move(file)) {}

  // Keeps the complete lines up to the iteration, so that a line that a killed process wrote in
  // part is removed, too. Other lines that are not an object of an iteration are moved to
  // NAME.damaged. A missing file counts as empty.
  void on_start(int64_t iteration) override;
  // Appends a line, which is handed to the operating system at once. Throws Error naming the file
  // if it cannot be written.
  void on_iteration(const Metrics& metrics) override;
  void on_score(const ValidationScore& score) override;

  // seconds() and scored() describe the last line that on_start() kept: its `seconds`, and whether
  // it has a validation score. Without such a line they are 0 and false.
  double seconds() const { return seconds_; }
  bool scored() const { return scored_; }
  // Returns a warning that says how many lines were moved to which file; empty if none were.
  const std::string& warning() const { return complaint_; }

 private:
  std::filesystem::path file_;
  double seconds_ = 0;
  bool scored_ = false;
  std::string complaint_;
};

}  // namespace isinglass
