// Makes the process groups of c10d. Their headers are large, and that of NCCL needs CUDA's headers,
// so that they are included in few sources.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/ranks/rank_info.h"

namespace isinglass {

using Backend = c10::intrusive_ptr<c10d::Backend>;
using Store = c10::intrusive_ptr<c10d::Store>;

// The time-out of a collective, which is long on purpose: the job notices a rank that has gone
// (job.h), and a rank that is alive may be writing a large file.
inline constexpr auto kPatience = std::chrono::hours(24 * 7);

// gloo_backend() uses the network interface that GLOO_SOCKET_IFNAME names, as PyTorch does.
Backend gloo_backend(const Store& store, const RankInfo& place);
Backend nccl_backend(const Store& store, const RankInfo& place);

// Returns an identifier of the GPU that is unique over all machines: uint8 [1, 16].
torch::Tensor uuid_of_gpu(torch::Device gpu);

}  // namespace isinglass
