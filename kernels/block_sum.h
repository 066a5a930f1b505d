// The sum over a block of threads: CUDA twins.
#pragma once

#include "kernels/launch.h"

namespace isinglass::cuda {

// The block's sum into *out, by its first thread. Called once in a kernel.
template <unsigned kThreads>
__device__ void store_block_sum(double value, double* out) {
  __shared__ double of_warp[kThreads / 32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (double part : of_warp) total += part;
    *out = total;
  }
}

}  // namespace isinglass::cuda
