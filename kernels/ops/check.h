// What the tensor layer of every kernel family shares: checks of tensors and the choice of the
// twin. Included by the sources of kernels/ops/ only.
#pragma once

#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// A contiguous tensor of the dtype with room for `numel` elements on x's device.
inline void check(const Tensor& t, const Tensor& like, torch::ScalarType dtype, int64_t numel,
                  const char* name) {
  TORCH_CHECK(t.defined() && t.is_contiguous() && t.scalar_type() == dtype && t.numel() == numel &&
                  t.device() == like.device(),
              "isinglass operator: ", name, " must be a contiguous ", dtype, " tensor of ", numel,
              " elements on ", like.device());
}

// Runs the twin of the tensor's device: f(cpu-or-cuda tag, stream).
#define ISINGLASS_TWIN(like, function, ...)                                            \
  ((like).is_cuda()                                                                    \
       ? cuda::function(__VA_ARGS__,                                                   \
                        c10::cuda::getCurrentCUDAStream((like).get_device()).stream()) \
       : cpu::function(__VA_ARGS__, nullptr))

template <class T>
T* data(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

}  // namespace isinglass::ops
