// Reads the parameters of models that compute in float32.
#pragma once

#include "models/parameter_file.h"

namespace isinglass {

// Takes tensors as float32, and warns once if the conversion changed numbers.
class SingleReader {
 public:
  explicit SingleReader(ParameterReader& reader) : reader_(reader) {}

  // Takes a tensor as ParameterReader::real() does, and converts it to float32.
  torch::Tensor take(const std::string& key, const std::vector<int64_t>& shape);

  // Warns if float32 has changed numbers: names the tensors and the largest relative change.
  void warn() const;

 private:
  ParameterReader& reader_;
  std::vector<std::string> rounded_;  // keys
  double rounding_ = 0;               // the largest change, relative to the number itself
};

}  // namespace isinglass
