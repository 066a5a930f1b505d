// The two-level weights of one chain (site_weights.h), and the draw of a site from them: CUDA
// twins. One block of kSumThreads a chain: all warps build the block sums (a warp sums 32 sites),
// then the first warp draws. Shared memory: the chain's BlockSums, up to 48·⌈D/32⌉ bytes, the
// words of its RemovedSites, and 32 weights. A twin's Rows gives log_site_weight(site, value).
#pragma once

#include "kernels/launch.h"
#include "kernels/site_weights.h"

namespace isinglass::cuda {

constexpr unsigned kSumThreads = 256;

// The two-level weights of one chain at its current values (null: the rows need none); every method
// is called by whole warps. The larger ones stay functions: kernels call them in many places, and
// inlined they take minutes to compile.
template <class Rows>
struct SiteSums {
  Rows rows;
  const uint8_t* values;
  int64_t sites;
  BlockSums sums;
  RemovedSites removed;
  double* weight;  // [32], of the block that is being drawn from
  double scale = 0;

  __device__ double log_weight(int64_t site) const {
    if (site >= sites || removed.contains(site)) return -INFINITY;
    return rows.log_site_weight(site, values ? values[site] : 0);
  }

  __device__ __noinline__ void refresh(int64_t block, unsigned lane) {
    const double w = log_weight(block * kBlockSites + lane);
    const double scale_of_block = block_scale(warp_max(w));
    const double block_sum = warp_sum(scaled_weight(w, scale_of_block));
    if (lane == 0) {
      sums.scale[block] = scale_of_block;
      sums.sum[block] = block_sum;
    }
  }

  // By the first warp, after a __syncwarp.
  __device__ __noinline__ void total(unsigned lane) {
    const int64_t blocks = site_blocks(sites);
    double m = -INFINITY;
    for (int64_t b = lane; b < blocks; b += 32) m = fmax(m, sums.scale[b]);
    scale = warp_max(m);
    double* leaf = sums.tree.leaf();
    for (int64_t b = lane; b < sums.tree.leaves; b += 32) {
      leaf[b] = b < blocks ? rescaled(sums.sum[b], sums.scale[b], scale) : 0;
    }
    for (int64_t width = sums.tree.leaves / 2; width > 0; width /= 2) {
      __syncwarp();
      sums.tree.add_level(width, lane, 32);
    }
    __syncwarp();
  }

  __device__ void update(int64_t site, unsigned lane) {
    __syncwarp();
    refresh(site / kBlockSites, lane);
    __syncwarp();
    total(lane);
  }

  // `site` leaves the pool.
  __device__ void remove(int64_t site, unsigned lane) {
    __syncwarp();
    if (lane == 0) removed.add(site);
    update(site, lane);
  }

  // The sum of all weights is exp(scale)·sum().
  __device__ double sum() const { return sums.tree.total(); }
  __device__ double log_total() const { return scale + elementary::log(sum()); }

  __device__ __noinline__ int64_t draw_site(double u, unsigned lane) const {
    double rest;
    const int64_t block = sums.tree.find(u * sum(), &rest);
    const int64_t first = block * kBlockSites;
    __syncwarp();
    weight[lane] = scaled_weight(log_weight(first + lane), sums.scale[block]);
    __syncwarp();
    const double target = unscaled(rest, sums.scale[block], scale);
    const int64_t count = sites - first < kBlockSites ? sites - first : kBlockSites;
    return first + pick(weight, count, target, &rest);
  }
};

// Numbers of shared memory of one chain's sums.
ISINGLASS_HD inline int64_t site_sums_doubles(int64_t sites) {
  return kBlockSites + block_sums_size(sites) + site_blocks(sites);
}

// Sums in such memory, to be built, with all sites in the pool. without_replacement: sites can
// leave it. By all threads of the block.
template <class Rows>
__device__ SiteSums<Rows> sums_in(double* shared, Rows rows, const uint8_t* values, int64_t sites,
                                  bool without_replacement = false) {
  double* scratch = shared + kBlockSites;
  const int64_t blocks = site_blocks(sites);
  auto* words = reinterpret_cast<uint32_t*>(scratch + block_sums_size(sites));
  const RemovedSites removed{without_replacement ? words : nullptr};
  if (without_replacement) {
    for (int64_t b = threadIdx.x; b < blocks; b += blockDim.x) words[b] = 0;
    __syncthreads();
  }
  return {rows, values, sites, BlockSums(scratch, blocks), removed, shared};
}

// The block sums, by all threads of a block of kSumThreads.
template <class Rows>
__device__ SiteSums<Rows> build_sums(Rows rows, const uint8_t* values, int64_t sites,
                                     bool without_replacement = false) {
  SiteSums<Rows> sums =
      sums_in(dynamic_shared_memory<double>(), rows, values, sites, without_replacement);
  for (int64_t b = threadIdx.x / 32; b < site_blocks(sites); b += kSumThreads / 32)
    sums.refresh(b, threadIdx.x % 32);
  __syncthreads();
  return sums;
}

inline LaunchShape site_sums_launch(int64_t chains, int64_t sites) {
  return {static_cast<unsigned>(chains), kSumThreads, site_sums_doubles(sites) * sizeof(double)};
}

}  // namespace isinglass::cuda
