// What the tensor layer of every kernel family shares: checks of tensors and the choice of the
// twin. Included by the sources of kernels/ops/ only.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>
#include <torch/version.h>

#include <cstdint>
#include <limits>

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

// A count of what kernels number by int32.
inline void check_numbered(int64_t count, const char* what) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  TORCH_CHECK(count <= kMost, "isinglass operator: there are ", count, " ", what, ", and at most ",
              kMost, " have a number");
}

// A stream of LibTorch's as CUDA knows it.
inline cudaStream_t cuda_stream(const c10::Stream& stream) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  return static_cast<cudaStream_t>(
      c10::impl::VirtualGuardImpl(stream.device_type()).getStreamNativeHandle(stream));
#else
  return c10::cuda::CUDAStream(stream).stream();
#endif
}

// Runs the twin of x's device: cpu(arguments…, null), or cuda(arguments…, stream) on the device's
// current stream and with the device current: a launch on a default stream, which a null stands
// for, goes to whatever device is current, and so do questions to the runtime.
template <class Cpu, class Cuda, class... Arguments>
void run_twin(const Tensor& x, Cpu cpu, Cuda cuda, const Arguments&... arguments) {
  const torch::Device device = x.device();
  if (device.is_cpu()) return cpu(arguments..., nullptr);
  TORCH_CHECK(device.is_cuda(), "isinglass operator: tensors are on a CPU or on a GPU, not on ",
              device);
  const c10::DeviceGuard guard(device);
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  cuda(arguments..., cuda_stream(stream));
}

// The one function of an operator for every device: it picks the twin by its tensors.
template <class Function>
torch::CppFunction on_all_devices(Function function) {
  return torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function);
}

template <class T>
T* data(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

}  // namespace isinglass::ops
