// Holds scratch memory that the launches of one object share, also as tensors.
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

// Returns a tensor of numbers of type T and of arbitrary values on the device of `like`. It refers
// to the scratch memory itself, whose address is the same for every shape that fits.
template <class T>
torch::Tensor scratch_tensor(Scratch& scratch, at::IntArrayRef shape, const torch::Tensor& like) {
  const auto options = like.options().dtype(c10::CppTypeToScalarType<T>::value);
  const int64_t count = c10::multiply_integers(shape);
  if (count == 0) return torch::empty(shape, options);
  return at::for_blob(scratch.numbers<T>(like, count), shape)
      .options(options)
      .target_device(options.device())
      .make_tensor();
}

}  // namespace isinglass::ops
