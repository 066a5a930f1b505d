// Sums over the units of one chain of an RBM, in blocks of 32, a warp each: CUDA twins.
#pragma once

#include "kernels/hidden.h"
#include "kernels/launch.h"
#include "kernels/site_weights.h"

namespace isinglass::cuda {

// sum[b] = Σ of term(i) over the 32 indices of block b
template <class F>
__device__ void block_sums(int64_t count, double* sum, F term) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int64_t b = warp; b < site_blocks(count); b += warps) {
    const int64_t i = b * kBlockSites + lane;
    const double total = warp_sum(i < count ? term(i) : 0.0);
    if (lane == 0) sum[b] = total;
  }
}

// sum[b] = Σ softplus(a_h) over the 32 hidden units of block b; each unit is given to see(h, unit).
template <class See>
__device__ void hidden_sums(const double* a, int64_t count, double* sum, See see) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int64_t b = warp; b < site_blocks(count); b += warps) {
    const int64_t h = b * kBlockSites + lane;
    const HiddenUnit unit(h < count ? a[h] : -INFINITY);
    if (h < count) see(h, unit);
    const double positive = warp_sum(unit.positive), factors = warp_product(1 + unit.least);
    if (lane == 0) sum[b] = positive + elementary::log(factors);
  }
}

__device__ inline double in_order(const double* sum, int64_t count) {
  double total = 0;
  for (int64_t b = 0; b < site_blocks(count); ++b) total += sum[b];
  return total;
}

}  // namespace isinglass::cuda
