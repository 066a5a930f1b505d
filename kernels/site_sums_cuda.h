// The two-level sums of site_weights.h on a GPU: one block per chain, whose warps each sum 32
// sites; then its first warp draws. Dynamic shared memory: 32 weights and the chain's BlockSums,
// 24·⌈D/32⌉ bytes (12 KiB at D = 16 384).
#pragma once

#include "kernels/launch.h"
#include "kernels/site_weights.h"

namespace isinglass::cuda {

constexpr unsigned kSumThreads = 256;
constexpr unsigned kSumWarps = kSumThreads / 32;

inline LaunchShape sums_launch_shape(int64_t chains, int64_t sites) {
  const size_t doubles = kBlockSites + 3 * site_blocks(sites);
  return {static_cast<unsigned>(chains), kSumThreads, doubles * sizeof(double)};
}

// The two-level weights of one chain at its current values (null: the rows need none); every method
// is called by whole warps.
template <class Rows>
struct SiteSums {
  Rows rows;
  const uint8_t* values;
  int64_t sites;
  BlockSums sums;
  double* weight;  // [32], of the block that is being drawn from
  double max = 0, sum = 0;

  __device__ double log_weight(int64_t site) const {
    return site < sites ? rows.log_site_weight(site, values ? values[site] : 0) : -INFINITY;
  }

  __device__ void refresh(int64_t block, unsigned lane) {
    const double w = log_weight(block * kBlockSites + lane);
    const double block_max = warp_max(w);
    const double block_sum = warp_sum(scaled_weight(w, block_max));
    if (lane == 0) {
      sums.max[block] = block_max;
      sums.sum[block] = block_sum;
    }
  }

  // By the first warp, after a __syncwarp.
  __device__ void total(unsigned lane) {
    const int64_t blocks = site_blocks(sites);
    double m = -INFINITY;
    for (int64_t b = lane; b < blocks; b += 32) m = fmax(m, sums.max[b]);
    max = warp_max(m);
    for (int64_t b = lane; b < blocks; b += 32) {
      sums.scaled[b] = sums.sum[b] * scaled_weight(sums.max[b], max);
    }
    __syncwarp();
    sum = 0;
    for (int64_t b = 0; b < blocks; ++b) sum += sums.scaled[b];
  }

  __device__ void update(int64_t site, unsigned lane) {
    __syncwarp();
    refresh(site / kBlockSites, lane);
    __syncwarp();
    total(lane);
  }

  __device__ double log_total() const { return max + log(sum); }

  __device__ int64_t draw_site(double u, unsigned lane) const {
    double rest;
    const int64_t block = pick(sums.scaled, site_blocks(sites), u * sum, &rest);
    const int64_t first = block * kBlockSites;
    __syncwarp();
    weight[lane] = scaled_weight(log_weight(first + lane), sums.max[block]);
    __syncwarp();
    const double target = rest / exp(sums.max[block] - max);
    const int64_t count = sites - first < kBlockSites ? sites - first : kBlockSites;
    return first + pick(weight, count, target, &rest);
  }
};

template <class Rows>
__device__ SiteSums<Rows> build_sums(Rows rows, const uint8_t* values, int64_t sites) {
  double* shared = dynamic_shared_memory<double>();
  const int64_t blocks = site_blocks(sites);
  SiteSums<Rows> sums{rows, values, sites, BlockSums(shared + kBlockSites, blocks), shared};
  for (int64_t b = threadIdx.x / 32; b < blocks; b += kSumWarps) sums.refresh(b, threadIdx.x % 32);
  __syncthreads();
  return sums;
}

}  // namespace isinglass::cuda
