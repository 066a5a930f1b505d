// metrics.jsonl: one JSON object per iteration, with the names of metrics.h and `iteration`.
#pragma once

#include <filesystem>
#include <string>

#include "train/metrics.h"

namespace isinglass {

// One JSON object, without the newline; numbers that are not finite are null.
std::string json_line(const Metrics& metrics);

class MetricsFile : public TrainObserver {
 public:
  explicit MetricsFile(std::filesystem::path file) : file_(std::move(file)) {}

  // Keeps the whole lines up to the iteration, so that a line which a killed process half wrote
  // goes too. Other lines that are no object of an iteration are moved to NAME.damaged. A missing
  // file counts as empty.
  void on_start(int64_t iteration) override;
  // Another line, handed to the system at once. Throws Error naming the file if it cannot be
  // written.
  void on_iteration(const Metrics& metrics) override;
  void on_score(const ValidationScore& score) override;

  // Of the last line that on_start() kept; none: 0, false.
  double seconds() const { return seconds_; }
  bool scored() const { return scored_; }
  // How many lines it moved to which file; empty: none.
  const std::string& complaint() const { return complaint_; }

 private:
  std::filesystem::path file_;
  double seconds_ = 0;
  bool scored_ = false;
  std::string complaint_;
};

}  // namespace isinglass
