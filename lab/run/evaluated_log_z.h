// Reads log Z of a model from the directory of its evaluation.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace isinglass {

struct EvaluatedLogZ {
  double value = 0;
  std::optional<double> standard_error = {};  // nothing unless the verdict is closed
  std::string parameters_sha256 = {};         // of the model that was evaluated
};

// Throws Error if the directory holds no finished evaluation that went in both directions.
EvaluatedLogZ evaluated_log_z(const std::filesystem::path& directory);

}  // namespace isinglass
