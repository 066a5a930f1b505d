// Stores texts as tensors, which are all that a state dict can hold: uint8, one byte each.
#pragma once

#include <string>

#include "io/torch.h"

namespace isinglass {

inline torch::Tensor bytes_of(const std::string& text) {
  return torch::tensor(
      at::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

inline std::string text_in(const torch::Tensor& bytes) {
  const torch::Tensor own = bytes.to(torch::kCPU, torch::kUInt8).contiguous();
  return {reinterpret_cast<const char*>(own.const_data_ptr<uint8_t>()),
          static_cast<size_t>(own.numel())};
}

}  // namespace isinglass
