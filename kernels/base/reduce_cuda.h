// Reductions over a warp. Included by launch.h, after whatever declares the shuffles.
#pragma once

#include <cmath>

#if defined(__CUDACC__) || defined(ISINGLASS_SIMT)
namespace isinglass {

__device__ inline double warp_max(double v) {
  for (int offset = 16; offset > 0; offset >>= 1)
    v = fmax(v, __shfl_xor_sync(0xffffffffu, v, offset));
  return v;
}

// The same pairs in the same order as tree_sum() on the CPU: the same sum of the same numbers.
__device__ inline double warp_sum(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__device__ inline double warp_product(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v *= __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

}  // namespace isinglass
#endif
