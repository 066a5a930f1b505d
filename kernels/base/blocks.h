// Sites, and hidden units, are summed in blocks of 32, a warp of a GPU: on every device the same
// pairs are added in the same order (tree_sum() of vectors_cpu.h, warp_sum() of reduce_cuda.h), so
// that the twins of a kernel have the same sums of the same numbers.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

constexpr int kBlockSites = 32;

ISINGLASS_HD inline int64_t site_blocks(int64_t sites) {
  return (sites + kBlockSites - 1) / kBlockSites;
}

}  // namespace isinglass
