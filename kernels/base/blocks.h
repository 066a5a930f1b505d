// Defines the blocks in which sites and hidden units are summed: 32 numbers, as many as a GPU warp
// has lanes. Every device adds the same pairs in the same order (tree_sum() in vectors_cpu.h,
// warp_sum() in reduce_cuda.h), so that the CPU and CUDA versions of a kernel return the same sum
// of the same numbers.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

constexpr int kBlockSites = 32;

ISINGLASS_HD inline int64_t site_blocks(int64_t sites) {
  return (sites + kBlockSites - 1) / kBlockSites;
}

}  // namespace isinglass
