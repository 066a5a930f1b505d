// The two-level sums of the weights of one chain (move_weights.h), and the draw of a site from
// them: CUDA twins. A warp a chain: its lanes share the 32 sites of a block and the blocks of a chain.
// Shared memory of a chain: 32 weights and its BlockSums, up to 48·⌈D/32⌉ bytes, with the words of its
// RemovedSites; where a block of the device has less, the sums are in global memory, and a launch
// before sums the blocks of sites (first_order_path.cu). Weights give log_site_weight(site, value), to a
// lane, or to the warp (row_weights_cuda.h).
#pragma once

#include "kernels/base/launch.h"
#include "kernels/path/move_weights.h"
#include "kernels/path/row_weights_cuda.h"
#include "kernels/random/philox.h"

namespace isinglass::cuda {

constexpr unsigned kWarp = 32, kAllLanes = 0xffffffffu;

// The sums at a chain's current values (null: the weights need none); every method is called by the
// whole warp. All are inlined: an object that a function were given would lie in local memory.
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
        sums_(scratch, site_blocks(sites)),
        removed_(removed),
        weight_(weight) {}

  __device__ const Weights& weights() const { return weights_; }
  __device__ const RemovedSites& removed() const { return removed_; }
  __device__ void set_values(const uint8_t* values) { values_ = values; }
  __device__ static unsigned lane() { return threadIdx.x % kWarp; }
  __device__ static bool leads() { return lane() == 0; }
  __device__ static void sync() { __syncwarp(); }

  // All blocks again, after a barrier.
  __device__ void build() {
    for (int64_t b = 0; b < site_blocks(sites_); ++b) refresh(b);
    __syncwarp();
    total();
  }

  // A block's sum again; returns its scale.
  __device__ double refresh(int64_t block) {
    const double w = log_weight(block * kBlockSites);
    const double scale = block_scale(warp_max(w)), sum = warp_sum(scaled_weight(w, scale));
    if (leads()) {
      sums_.scale[block] = scale;
      sums_.sum[block] = sum;
    }
    return scale;
  }

  // After a barrier.
  __device__ void total() {
    const int64_t blocks = site_blocks(sites_);
    double m = -INFINITY;
    for (int64_t b = lane(); b < blocks; b += kWarp) m = fmax(m, sums_.scale[b]);
    scale_ = warp_max(m);
    double* leaf = sums_.tree.leaf();
    for (int64_t b = lane(); b < sums_.tree.leaves; b += kWarp) {
      leaf[b] = b < blocks ? rescaled(sums_.sum[b], sums_.scale[b], scale_) : 0;
    }
    for (int64_t width = sums_.tree.leaves / 2; width > 0; width /= 2) {
      __syncwarp();
      sums_.tree.add_level(width, lane(), kWarp);
    }
    __syncwarp();
  }

  // After the value of `site` changed: its block again, and the nodes of the tree above it.
  __device__ void update(int64_t site) {
    const int64_t block = site / kBlockSites;
    const double before = sums_.scale[block];
    __syncwarp();
    const double after = refresh(block);
    __syncwarp();
    if (after != before) return total();
    if (leads()) {
      sums_.tree.leaf()[block] = rescaled(sums_.sum[block], after, scale_);
      sums_.tree.update(block);
    }
    __syncwarp();
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

  // That of move l = 0, 1, … of a path: every lane draws one.
  __device__ double site_uniform(const Draws& draws, int64_t l) {
    if (l % kWarp == 0) {
      uniform_ = draws.uniform(Purpose::kSite, static_cast<uint32_t>(l + lane()));
    }
    return __shfl_sync(kAllLanes, uniform_, static_cast<int>(l % kWarp));
  }

  __device__ TreePosition locate(double u) const {
    TreePosition position;
    position.block = sums_.tree.find(u * sum(), &position.rest);
    return position;
  }
  __device__ int64_t draw_site(const TreePosition& position) const {
    const double block_scale = sums_.scale[position.block];
    const int64_t first = position.block * kBlockSites;
    __syncwarp();
    weight_[lane()] = scaled_weight(log_weight(first), block_scale);
    __syncwarp();
    const int64_t count = sites_ - first < kBlockSites ? sites_ - first : kBlockSites;
    const auto of_site = [this](int64_t i) { return weight_[i]; };
    return first + inverse_cdf(count, of_site, unscaled(position.rest, block_scale, scale_), 0);
  }

 private:
  // Of this lane's site of a block, which begins with the site `first`.
  __device__ double log_weight(int64_t first) const {
    if constexpr (kByRow<Weights>) {
      typename Weights::Moves own;
      for (unsigned i = 0; i < kBlockSites && first + i < sites_; ++i) {
        if (removed_.contains(first + i)) continue;
        const auto moves = weights_.moves(first + i, values_[first + i]);
        if (lane() == i) own = moves;
      }
      return own.log_sum();
    } else {
      const int64_t site = first + lane();
      if (site >= sites_ || removed_.contains(site)) return -INFINITY;
      return weights_.log_site_weight(site, values_ ? values_[site] : 0);
    }
  }

  Weights weights_;
  const uint8_t* values_;
  int64_t sites_;
  BlockSums sums_;
  RemovedSites removed_;
  double* weight_;
  double scale_ = 0, uniform_ = 0;
};

// A warp a chain: chains of a block of threads, and this warp's one.
__device__ inline int64_t chain_of_warp() {
  return static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
}

// Sums to be built, with all sites in the pool.
template <class Weights>
__device__ WeightSums<Weights> sums_in(double* weight, double* scratch, const Weights& weights,
                                       const uint8_t* values, int64_t sites,
                                       bool without_replacement = false) {
  const RemovedSites removed = removed_in(scratch, sites, without_replacement);
  if (without_replacement) {
    for (int64_t b = threadIdx.x % kWarp; b < site_blocks(sites); b += kWarp) removed.word[b] = 0;
    __syncwarp();
  }
  return {weights, values, sites, weight, scratch, removed};
}

// Whether the blocks of sums in global memory have been summed by a launch before.
enum class Blocks { kToSum, kSummed };

// The sums of this warp's chain, of so many numbers. scratch [B, numbers] is in global memory, or
// null: shared.
template <class Weights>
__device__ WeightSums<Weights> build_sums(const Weights& weights, const uint8_t* values,
                                          int64_t sites, double* scratch, int64_t numbers,
                                          bool without_replacement = false,
                                          Blocks blocks = Blocks::kToSum) {
  const int64_t warp = threadIdx.x / kWarp;
  double* weight = dynamic_shared_memory<double>() + warp * (kBlockSites + (scratch ? 0 : numbers));
  double* own = scratch ? scratch + chain_of_warp() * numbers : weight + kBlockSites;
  WeightSums<Weights> sums = sums_in(weight, own, weights, values, sites, without_replacement);
  if (scratch && blocks == Blocks::kSummed) {
    sums.total();
  } else {
    sums.build();
  }
  return sums;
}

// The launch of a warp a chain, with so much shared memory each: several chains a block, where there
// are enough to keep every multiprocessor busy (the largest devices have 132) and it has the memory.
inline LaunchShape chains_launch(int64_t chains, int64_t bytes) {
  int64_t together = chains >= 512 ? 4 : chains >= 256 ? 2 : 1;
  while (together > 1 && together * bytes > shared_memory_limit(current_device())) together /= 2;
  return {static_cast<unsigned>((chains + together - 1) / together),
          static_cast<unsigned>(together) * kWarp, static_cast<size_t>(together * bytes)};
}

// The same for chains that have sums of so many numbers each; scratch [B, numbers] in global memory
// becomes null where a block of the device has shared memory for them.
inline LaunchShape weight_sums_launch(int64_t chains, int64_t numbers, double*& scratch) {
  const auto bytes = [](int64_t count) { return count * static_cast<int64_t>(sizeof(double)); };
  const int64_t shared = bytes(kBlockSites + numbers);
  if (shared <= shared_memory_limit(current_device())) scratch = nullptr;
  return chains_launch(chains, scratch ? bytes(kBlockSites) : shared);
}

}  // namespace isinglass::cuda
