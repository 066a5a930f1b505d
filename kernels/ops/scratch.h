// Holds scratch memory that the launches of one object share.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass::ops {

// The memory grows and is never freed before the object is. Steps captured in a CUDA graph know it
// by its address, and keep writing there after calls with another batch size.
class Scratch {
 public:
  // Returns room for `count` numbers of arbitrary values on x's device, or null if count is 0.
  template <class T>
  T* numbers(const torch::Tensor& x, int64_t count) {
    const auto bytes = count * static_cast<int64_t>(sizeof(T));
    if (bytes == 0) return nullptr;
    if (memory_.empty() || memory_.back().numel() < bytes ||
        memory_.back().device() != x.device()) {
      memory_.push_back(torch::empty({bytes}, x.options().dtype(torch::kUInt8)));
    }
    return reinterpret_cast<T*>(memory_.back().mutable_data_ptr<uint8_t>());
  }

 private:
  std::vector<torch::Tensor> memory_;
};

}  // namespace isinglass::ops
