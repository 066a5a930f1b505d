// Caches a value that a model computes from its parameters: a lattice, transposed weights, a copy
// in another precision. The value is recomputed when one of the tensors that it is computed from
// has been written to, has been replaced by another tensor, or has moved to another device.
//
// Writes are detected by the tensors' version counters (Tensor::_version). Code that writes without
// going through autograd's counters, as torch::optim and fused kernels do, has to bump the version
// itself (train/optimiser/adam.cpp).
#pragma once

#include <optional>
#include <vector>

#include "io/torch.h"

namespace isinglass {

template <class T>
class Cached {
 public:
  // Returns the value for the present contents of `sources`. If the cached one is out of date, it
  // is computed by make() → T without gradients.
  template <class Sources, class Make>
  T& get(const Sources& sources, Make make) {
    if (!value_ || !current(sources)) {
      const torch::NoGradGuard no_grad;
      value_.emplace(make());
      stamps_.clear();
      for (const torch::Tensor& source : sources) stamps_.push_back(stamp_of(source));
    }
    return *value_;
  }

  // Returns the value that was computed last, current or not; null if none was.
  T* last() { return value_ ? &*value_ : nullptr; }

 private:
  struct Stamp {
    torch::Tensor source;  // keeps the tensor alive, so that no other one gets its address
    int64_t version;
    const void* data;
    torch::Device device;
  };

  static Stamp stamp_of(const torch::Tensor& source) {
    return {source, source._version(), source.const_data_ptr(), source.device()};
  }

  template <class Sources>
  bool current(const Sources& sources) const {
    size_t i = 0;
    for (const torch::Tensor& source : sources) {
      if (i == stamps_.size()) return false;
      const Stamp& stamp = stamps_[i++];
      if (!stamp.source.is_same(source) || stamp.version != source._version() ||
          stamp.data != source.const_data_ptr() || stamp.device != source.device()) {
        return false;
      }
    }
    return i == stamps_.size();
  }

  std::optional<T> value_;
  std::vector<Stamp> stamps_;
};

}  // namespace isinglass
