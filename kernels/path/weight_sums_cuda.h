// The two-level sums of the weights of one chain (move_weights.h), and the draw of a site from
// them: CUDA twins. One block of kSumThreads a chain: all warps build the block sums (a warp sums
// 32 sites), then the first warp draws. Shared memory: 32 weights and the chain's BlockSums, up to
// 48·⌈D/32⌉ bytes, with the words of its RemovedSites; where a block of the device has less, the
// sums are in global memory. Weights give log_site_weight(site, value).
#pragma once

#include "kernels/base/launch.h"
#include "kernels/path/move_weights.h"

namespace isinglass::cuda {

constexpr unsigned kSumThreads = 256;

// The sums at a chain's current values (null: the weights need none); every method is called by
// whole warps, those that draw or change a sum by one warp. The larger ones stay functions: kernels
// call them in many places, and inlined they take minutes to compile.
template <class Weights>
class WeightSums {
 public:
  // In scratch of block_sums_size() numbers, or of sums_scratch() where sites can leave the pool;
  // weight [32], of the block that is being drawn from.
  __device__ WeightSums(const Weights& weights, const uint8_t* values, int64_t sites,
                        double* weight, double* scratch, RemovedSites removed)
      : weights_(weights),
        values_(values),
        sites_(sites),
        lane_(threadIdx.x % 32),
        sums_(scratch, site_blocks(sites)),
        removed_(removed),
        weight_(weight) {}

  __device__ const Weights& weights() const { return weights_; }
  __device__ const RemovedSites& removed() const { return removed_; }
  __device__ void set_values(const uint8_t* values) { values_ = values; }
  __device__ bool leads() const { return lane_ == 0; }
  __device__ void sync() const { __syncwarp(); }

  __device__ __noinline__ void refresh(int64_t block) {
    const double w = log_weight(block * kBlockSites + lane_);
    const double scale_of_block = block_scale(warp_max(w));
    const double block_sum = warp_sum(scaled_weight(w, scale_of_block));
    if (leads()) {
      sums_.scale[block] = scale_of_block;
      sums_.sum[block] = block_sum;
    }
  }

  // After a barrier.
  __device__ __noinline__ void total() {
    const int64_t blocks = site_blocks(sites_);
    double m = -INFINITY;
    for (int64_t b = lane_; b < blocks; b += 32) m = fmax(m, sums_.scale[b]);
    scale_ = warp_max(m);
    double* leaf = sums_.tree.leaf();
    for (int64_t b = lane_; b < sums_.tree.leaves; b += 32) {
      leaf[b] = b < blocks ? rescaled(sums_.sum[b], sums_.scale[b], scale_) : 0;
    }
    for (int64_t width = sums_.tree.leaves / 2; width > 0; width /= 2) {
      __syncwarp();
      sums_.tree.add_level(width, lane_, 32);
    }
    __syncwarp();
  }

  // After the value of `site` changed.
  __device__ void update(int64_t site) {
    __syncwarp();
    refresh(site / kBlockSites);
    __syncwarp();
    total();
  }

  // `site` leaves the pool.
  __device__ void remove(int64_t site) {
    __syncwarp();
    if (leads()) removed_.add(site);
    update(site);
  }

  // The sum of all weights is exp(scale())·sum().
  __device__ double scale() const { return scale_; }
  __device__ double sum() const { return sums_.tree.total(); }
  __device__ double log_total() const { return scale_ + elementary::log(sum()); }

  __device__ TreePosition locate(double u) const {
    TreePosition position;
    position.block = sums_.tree.find(u * sum(), &position.rest);
    return position;
  }
  __device__ __noinline__ int64_t draw_site(const TreePosition& position) const {
    const double block_scale = sums_.scale[position.block];
    const int64_t first = position.block * kBlockSites;
    __syncwarp();
    weight_[lane_] = scaled_weight(log_weight(first + lane_), block_scale);
    __syncwarp();
    const int64_t count = sites_ - first < kBlockSites ? sites_ - first : kBlockSites;
    const auto of_site = [this](int64_t i) { return weight_[i]; };
    return first + inverse_cdf(count, of_site, unscaled(position.rest, block_scale, scale_), 0);
  }

 private:
  __device__ double log_weight(int64_t site) const {
    if (site >= sites_ || removed_.contains(site)) return -INFINITY;
    return weights_.log_site_weight(site, values_ ? values_[site] : 0);
  }

  Weights weights_;
  const uint8_t* values_;
  int64_t sites_;
  unsigned lane_;
  BlockSums sums_;
  RemovedSites removed_;
  double* weight_;
  double scale_ = 0;
};

// Sums to be built, with all sites in the pool; by all threads of the block.
template <class Weights>
__device__ WeightSums<Weights> sums_in(double* weight, double* scratch, const Weights& weights,
                                       const uint8_t* values, int64_t sites,
                                       bool without_replacement = false) {
  const RemovedSites removed = removed_in(scratch, sites, without_replacement);
  if (without_replacement) {
    for (int64_t b = threadIdx.x; b < site_blocks(sites); b += blockDim.x) removed.word[b] = 0;
    __syncthreads();
  }
  return {weights, values, sites, weight, scratch, removed};
}

// The block sums, by all threads of a block of kSumThreads. scratch: the chain's, in global memory,
// or null: shared.
template <class Weights>
__device__ WeightSums<Weights> build_sums(const Weights& weights, const uint8_t* values,
                                          int64_t sites, double* scratch,
                                          bool without_replacement = false) {
  double* shared = dynamic_shared_memory<double>();
  WeightSums<Weights> sums = sums_in(shared, scratch ? scratch : shared + kBlockSites, weights,
                                     values, sites, without_replacement);
  for (int64_t b = threadIdx.x / 32; b < site_blocks(sites); b += kSumThreads / 32) sums.refresh(b);
  __syncthreads();
  return sums;
}

__device__ inline double* chain_scratch(double* scratch, int64_t numbers, int64_t chain) {
  return scratch ? scratch + chain * numbers : nullptr;
}

// The launch of a kernel whose chains have sums of so many numbers each; scratch [B, numbers] in
// global memory becomes null where a block of the device has shared memory for them.
inline LaunchShape weight_sums_launch(int64_t chains, int64_t numbers, double*& scratch) {
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(double); };
  const size_t shared = bytes(kBlockSites + numbers);
  if (static_cast<int64_t>(shared) <= shared_memory_limit(current_device())) scratch = nullptr;
  return {static_cast<unsigned>(chains), kSumThreads, scratch ? bytes(kBlockSites) : shared};
}

}  // namespace isinglass::cuda
