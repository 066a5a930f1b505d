// Holds what the tensor layer of every kernel family shares: checks of tensors, the structs of
// pointers that kernels take, and the choice between the CPU and the CUDA version of a kernel. Only
// sources of kernels/ops/ include it.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/version.h>

#include <cstdint>
#include <limits>

#include "io/torch.h"
#include "kernels/accept/step_counts.h"
#include "kernels/base/chain_scale.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/lattice/lattice.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

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

template <class T>
T* data(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

// Checks a tensor float64 [n], shared by all chains, or [B, n], one row per chain.
inline ChainScale chain_scale(const Tensor& scale, const Tensor& like, int64_t chains,
                              int64_t numbers, const char* name) {
  const bool own = scale.defined() && scale.dim() == 2;
  check(scale, like, torch::kFloat64, own ? chains * numbers : numbers, name);
  return {data<double>(scale), own ? numbers : 0};
}

// Returns the pointers of the statistics of a step.
inline StepCounts count_pointers(const StepBuffers& counts, const Tensor& like, int64_t chains) {
  check(counts.acceptance, like, torch::kFloat64, chains, "acceptance");
  check(counts.hops, like, torch::kInt64, chains, "hops");
  check(counts.acceptance_sum, like, torch::kFloat64, chains, "acceptance_sum");
  check(counts.hops_sum, like, torch::kInt64, chains, "hops_sum");
  check(counts.non_finite, like, torch::kInt64, chains, "non_finite");
  return {data<double>(counts.acceptance), data<int64_t>(counts.hops),
          data<double>(counts.acceptance_sum), data<int64_t>(counts.hops_sum),
          data<int64_t>(counts.non_finite)};
}

// Returns the pointers of a lattice, for states x [B, D].
inline Lattice lattice_pointers(const LatticeTensors& l, const Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && l.unary.dim() == 2 && l.unary.size(0) == x.size(1),
              "isinglass operator: unary must be [D, K] for states [B, D]");
  check_numbered(x.size(1), "sites");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(l.unary, x, torch::kFloat64, l.unary.numel(), "unary");
  check(l.offset, x, torch::kInt64, x.size(1) + 1, "offset");
  check(l.neighbour, x, torch::kInt32, l.neighbour.numel(), "neighbour");
  const bool tables = l.coupling.dim() == 3;
  const int64_t entries = tables ? l.unary.size(1) * l.unary.size(1) : 1;
  check(l.coupling, x, torch::kFloat64, l.neighbour.numel() * entries, "coupling");
  return {x.size(1),
          static_cast<int>(l.unary.size(1)),
          data<double>(l.unary),
          data<int64_t>(l.offset),
          data<int32_t>(l.neighbour),
          tables ? nullptr : data<double>(l.coupling),
          l.constant,
          tables ? data<double>(l.coupling) : nullptr};
}

// Returns the pointers of a lattice's neighbourhood tables, for states x [B, D].
inline NeighbourhoodTable neighbourhood_pointers(const NeighbourhoodTensors& p, const Tensor& x) {
  const int64_t sites = x.size(1);
  check(p.neighbour, x, torch::kInt32, sites * kTableNeighbours, "neighbour");
  check(p.flip_energy, x, torch::kFloat64, sites * kNeighbourhoods, "flip_energy");
  check(p.half_flip, x, torch::kFloat64, sites * kNeighbourhoods, "half_flip");
  check(p.gradient, x, torch::kFloat32, sites * kNeighbourhoods, "gradient");
  check(p.threshold_word, x, torch::kUInt32, sites * kNeighbourhoods, "threshold_word");
  return {sites,
          p.constant,
          data<int32_t>(p.neighbour),
          data<double>(p.flip_energy),
          data<double>(p.half_flip),
          data<float>(p.gradient),
          data<uint32_t>(p.threshold_word)};
}

}  // namespace isinglass::ops
