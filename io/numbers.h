// A tensor's numbers on the host.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

// Of any shape, dtype and device: its elements in float64, the last dimension fastest.
inline std::vector<double> numbers(const torch::Tensor& values) {
  const torch::Tensor x = values.to(torch::kCPU, torch::kFloat64).contiguous();
  return {x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()};
}

}  // namespace isinglass
