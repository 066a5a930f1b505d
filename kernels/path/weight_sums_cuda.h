// The two-level weights of one chain (move_weights.h), and the draw of a site from them: CUDA
// twins. One block of kSumThreads a chain: all warps build the block sums (a warp sums 32 sites),
// then the first warp draws. Shared memory: 32 weights and the chain's BlockSums, up to 48·⌈D/32⌉
// bytes, with the words of its RemovedSites; where a block of the device has less, the sums are in
// global memory. A twin's Rows gives log_site_weight(site, value).
#pragma once

#include "kernels/base/launch.h"
#include "kernels/path/move_weights.h"

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

// Sums to be built, with all sites in the pool, in scratch of block_sums_size() numbers, or of
// sums_scratch() where sites can leave the pool; weight [32]. By all threads of the block.
template <class Rows>
__device__ SiteSums<Rows> sums_in(double* weight, double* scratch, Rows rows, const uint8_t* values,
                                  int64_t sites, bool without_replacement = false) {
  const int64_t blocks = site_blocks(sites);
  const RemovedSites removed = removed_in(scratch, sites, without_replacement);
  if (without_replacement) {
    for (int64_t b = threadIdx.x; b < blocks; b += blockDim.x) removed.word[b] = 0;
    __syncthreads();
  }
  return {rows, values, sites, BlockSums(scratch, blocks), removed, weight};
}

// The block sums, by all threads of a block of kSumThreads. scratch: the chain's, in global memory,
// or null: shared.
template <class Rows>
__device__ SiteSums<Rows> build_sums(Rows rows, const uint8_t* values, int64_t sites,
                                     double* scratch, bool without_replacement = false) {
  double* shared = dynamic_shared_memory<double>();
  SiteSums<Rows> sums = sums_in(shared, scratch ? scratch : shared + kBlockSites, rows, values,
                                sites, without_replacement);
  for (int64_t b = threadIdx.x / 32; b < site_blocks(sites); b += kSumThreads / 32)
    sums.refresh(b, threadIdx.x % 32);
  __syncthreads();
  return sums;
}

__device__ inline double* chain_scratch(double* scratch, int64_t numbers, int64_t chain) {
  return scratch ? scratch + chain * numbers : nullptr;
}

// The launch of a kernel whose chains have sums of so many numbers each; scratch [B, numbers] in
// global memory becomes null where a block of the device has shared memory for them.
inline LaunchShape site_sums_launch(int64_t chains, int64_t numbers, double*& scratch) {
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(double); };
  const size_t shared = bytes(kBlockSites + numbers);
  if (static_cast<int64_t>(shared) <= shared_memory_limit(current_device())) scratch = nullptr;
  return {static_cast<unsigned>(chains), kSumThreads, scratch ? bytes(kBlockSites) : shared};
}

}  // namespace isinglass::cuda
