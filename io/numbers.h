// Copies a tensor's elements to the host.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

// Returns the elements of a tensor of any shape, dtype and device in float64, the last dimension
// fastest.
inline std::vector<double> numbers(const torch::Tensor& values) {
  const torch::Tensor x = values.to(torch::kCPU, torch::kFloat64).contiguous();
  return {x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()};
}

}  // namespace isinglass
