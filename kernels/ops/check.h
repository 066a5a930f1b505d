// Holds what the tensor layer of every kernel family shares: checks of tensors, and the choice
// between the CPU and the CUDA version of a kernel. Only sources of kernels/ops/ include it.
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

// Throws unless t is a contiguous tensor of this dtype with `numel` elements on the device of
// `like`.
inline void check(const Tensor& t, const Tensor& like, torch::ScalarType dtype, int64_t numel,
                  const char* name) {
  TORCH_CHECK(t.defined() && t.is_contiguous() && t.scalar_type() == dtype && t.numel() == numel &&
                  t.device() == like.device(),
              "isinglass operator: ", name, " must be a contiguous ", dtype, " tensor of ", numel,
              " elements on ", like.device());
}

// Throws if `count` exceeds what kernels can number by int32.
inline void check_numbered(int64_t count, const char* what) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  TORCH_CHECK(count <= kMost, "isinglass operator: there are ", count, " ", what, ", but at most ",
              kMost, " can be indexed by int32");
}

// Returns the CUDA stream of a LibTorch stream.
inline cudaStream_t cuda_stream(const c10::Stream& stream) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  return static_cast<cudaStream_t>(
      c10::impl::VirtualGuardImpl(stream.device_type()).getStreamNativeHandle(stream));
#else
  return c10::cuda::CUDAStream(stream).stream();
#endif
}

// Runs the version of a kernel for x's device: cpu(arguments…, null), or cuda(arguments…, stream)
// on the device's current stream. It makes the device current, because launches on the default
// stream, for which a null stands, and queries of the CUDA runtime refer to the current device.
template <class Cpu, class Cuda, class... Arguments>
void run_twin(const Tensor& x, Cpu cpu, Cuda cuda, const Arguments&... arguments) {
  const torch::Device device = x.device();
  if (device.is_cpu()) return cpu(arguments..., nullptr);
  TORCH_CHECK(device.is_cuda(), "isinglass operator: tensors must be on a CPU or on a GPU, not on ",
              device);
  const c10::DeviceGuard guard(device);
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  cuda(arguments..., cuda_stream(stream));
}

// Registers one function of an operator for every device; the function chooses the kernel by its
// tensors.
template <class Function>
torch::CppFunction on_all_devices(Function function) {
  return torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function);
}

template <class T>
T* data(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

}  // namespace isinglass::ops
