// Reads metrics.jsonl of a training run (train/metrics.h) by columns.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isinglass {

class TrainingCurves {
 public:
  // Throws Error if the file holds no iteration.
  explicit TrainingCurves(const std::filesystem::path& file);

  // Returns one value per iteration; NaN if a line lacks it.
  std::vector<double> column(const std::string& key) const;
  bool has(const std::string& key) const;  // Returns whether it has a finite value.
  // Returns the mean over the finite values in the last tenth of the iterations, or NaN if there
  // are none.
  double late_mean(const std::string& key) const;
  const nlohmann::ordered_json& last() const { return lines_.back(); }

 private:
  std::vector<nlohmann::ordered_json> lines_;
};

}  // namespace isinglass
