// Builds the two-level sums of the weights of one chain (move_weights.h) and draws a site from them
// (CUDA), with one warp per chain. Its lanes share the 32 sites of a block, and the blocks of the
// chain. Shared memory per chain: 32 weights and its BlockSums, up to 48·⌈D/32⌉ bytes, and the
// words of its RemovedSites. If a block of the device has less, the sums are in global memory, and
// a launch before sums the blocks of sites (first_order_path.cu). `Weights` must have
// log_site_weight(site, value), which is called by a lane, or by the whole warp
// (row_weights_cuda.h).
#pragma once

#include "kernels/base/launch.h"
#include "kernels/path/move_weights.h"
#include "kernels/path/row_weights_cuda.h"
#include "kernels/random/philox.h"

namespace isinglass::cuda {

constexpr unsigned kWarp = 32, kAllLanes = 0xffffffffu;

// Holds the sums at a chain's current values, which are null if the weights do not depend on
// values. The whole warp must call every method. All methods are inlined, because passing the
// object to a function would move it to local memory.
template <class Weights>
class WeightSums {
 public:
  // Places the sums in `scratch`, which has block_sums_size() numbers, or sums_scratch() if sites
  // can leave the pool. weight [32] is for the block that is being drawn from.
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

  // Recomputes all blocks. A barrier must precede it.
  __device__ void build() {
    for (int64_t b = 0; b < site_blocks(sites_); ++b) refresh(b);
    __syncwarp();
    total();
  }

  // Recomputes a block's sum and returns its scale.
  __device__ double refresh(int64_t block) {
    const double w = log_weight(block * kBlockSites);
    const double scale = block_scale(warp_max(w)), sum = warp_sum(scaled_weight(w, scale));
    if (leads()) {
      sums_.scale[block] = scale;
      sums_.sum[block] = sum;
    }
    return scale;
  }

  // Recomputes the tree from the blocks' sums. A barrier must precede it.
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

  // Recomputes the block of `site`, whose value has changed, and the nodes of the tree above it.
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

  // Removes `site` from the pool.
  __device__ void remove(int64_t site) {
    __syncwarp();
    if (leads()) removed_.add(site);
    update(site);
  }

  // The sum of all weights is exp(scale())·sum().
  __device__ double scale() const { return scale_; }
  __device__ double sum() const { return sums_.tree.total(); }
  __device__ double log_total() const { return scale_ + elementary::log(sum()); }

  // Returns the random number of move l = 0, 1, … of a path. Each lane draws one of every 32
  // numbers.
  __device__ double site_uniform(const PhiloxStream& draws, int64_t l) {
    if (l % kWarp == 0) {
      uniform_ = draws.uniform(Purpose::kSite, static_cast<uint32_t>(l + lane()));
    }
    return __shfl_sync(kAllLanes, uniform_, static_cast<int>(l % kWarp));
  }

  // locate() returns where quantile u of the distribution over all sites falls; draw_site() returns
  // the site there.
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
  // Returns the log weight of this lane's site in the block whose first site is `first`.
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

// Returns the chain of this warp. A block of threads has as many chains as warps.
__device__ inline int64_t chain_of_warp() {
  return static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
}

// Returns sums that are yet to be built, with all sites in the pool.
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

// Says whether a previous launch has summed the blocks of sums that are in global memory.
enum class Blocks { kToSum, kSummed };

// Returns the sums of this warp's chain, which need `numbers` numbers. scratch [B, numbers] is in
// global memory, or null if the sums are in shared memory.
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

// Returns a launch with one warp and `bytes` of shared memory per chain. A block has several chains
// if there are enough chains to keep every multiprocessor busy (the largest devices have 132) and
// the block has enough shared memory.
inline LaunchShape chains_launch(int64_t chains, int64_t bytes) {
  int64_t together = chains >= 512 ? 4 : chains >= 256 ? 2 : 1;
  while (together > 1 && together * bytes > shared_memory_limit(current_device())) together /= 2;
  return {static_cast<unsigned>((chains + together - 1) / together),
          static_cast<unsigned>(together) * kWarp, static_cast<size_t>(together * bytes)};
}

// Does the same for chains whose sums need `numbers` numbers each. Sets `scratch` [B, numbers] in
// global memory to null if a block of the device has enough shared memory for the sums.
inline LaunchShape weight_sums_launch(int64_t chains, int64_t numbers, double*& scratch) {
  const auto bytes = [](int64_t count) { return count * static_cast<int64_t>(sizeof(double)); };
  const int64_t shared = bytes(kBlockSites + numbers);
  if (shared <= shared_memory_limit(current_device())) scratch = nullptr;
  return chains_launch(chains, scratch ? bytes(kBlockSites) : shared);
}

}  // namespace isinglass::cuda
