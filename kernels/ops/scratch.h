// Memory that the launches of one object share.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass::ops {

// It grows, and never gives back what it has handed out: steps that have been captured know it by its
// address, and go on writing there when another batch has come between.
class Scratch {
 public:
  // So many numbers on x's device, of any values; null: none.
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
