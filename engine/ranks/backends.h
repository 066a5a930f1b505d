// What makes c10d's process groups: their headers are large, and that of NCCL needs CUDA's.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/ranks/place.h"

namespace isinglass {

using Backend = c10::intrusive_ptr<c10d::Backend>;
using Store = c10::intrusive_ptr<c10d::Store>;

// Nobody waits longer in a collective: a rank that has gone is missed by the job (job.h), and one that
// lives may write a large file.
inline constexpr auto kPatience = std::chrono::hours(24 * 7);

// GLOO_SOCKET_IFNAME names the network interface, as in PyTorch.
Backend gloo_backend(const Store& store, const Place& place);
Backend nccl_backend(const Store& store, const Place& place);

// What no two GPUs share, on any machines: uint8 [1, 16].
torch::Tensor uuid_of_gpu(torch::Device gpu);

}  // namespace isinglass
