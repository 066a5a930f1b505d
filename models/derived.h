// What a model computes from its parameters and keeps: a lattice, transposed weights, a copy in
// another precision. One rule for all: it is computed anew when a tensor that it comes from has
// been written to, is another tensor, or has moved to another device.
//
// Writes are counted by the tensors themselves (Tensor::_version). Who writes behind their back, as
// torch::optim and fused kernels do, bumps the version (train/optimiser/adam.cpp).
#pragma once

#include <optional>
#include <vector>

#include "io/torch.h"

namespace isinglass {

template <class T>
class Derived {
 public:
  // The value of the sources as they are now; make() → T computes it, without gradients.
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

  // As it was computed last; null: never.
  T* last() { return value_ ? &*value_ : nullptr; }

 private:
  struct Stamp {
    torch::Tensor source;  // held, so that its address stays its own
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
