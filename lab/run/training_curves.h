// metrics.jsonl of a training run (train/metrics.h) by columns.
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

  // A value an iteration; NaN where a line lacks one.
  std::vector<double> column(const std::string& key) const;
  bool has(const std::string& key) const;  // a finite value
  // Mean over the finite values of the last tenth of the iterations; NaN: there is none.
  double late_mean(const std::string& key) const;
  const nlohmann::ordered_json& last() const { return lines_.back(); }

 private:
  std::vector<nlohmann::ordered_json> lines_;
};

}  // namespace isinglass
