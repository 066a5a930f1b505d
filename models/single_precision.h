// Parameters of models that compute in float32.
#pragma once

#include "models/parameter_file.h"

namespace isinglass {

// Takes tensors as float32, and warns once of numbers that this changes.
class SingleReader {
 public:
  explicit SingleReader(ParameterReader& reader) : reader_(reader) {}

  // ParameterReader::real() as float32.
  torch::Tensor take(const std::string& key, const std::vector<int64_t>& shape);

  // Says which tensors float32 has changed, and by how much, if it has.
  void warn() const;

 private:
  ParameterReader& reader_;
  std::vector<std::string> rounded_;  // keys
  double rounding_ = 0;               // the largest change, relative to the number
};

}  // namespace isinglass
