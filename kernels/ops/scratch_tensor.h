// Presents scratch memory as a tensor.
#pragma once

#include "kernels/ops/scratch.h"

namespace isinglass::ops {

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
