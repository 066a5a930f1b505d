// Caches the two-level sums of the weights of one chain from step to step (CPU). The numbers are
// bitwise those of WeightSums (weight_sums_cpu.h), but a step recomputes only what changed.
//
// invalidate() marks a site whose weight has changed. flush() recomputes the weights of the marked
// sites, sums their blocks again, each from the weights of all its sites, and updates the nodes of
// the tree above them. Nothing is ever subtracted. If a block's scale has changed, all its weights
// are recomputed.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::cpu {

// Returns how many numbers a chain's cache has, in whole cache lines.
inline int64_t cached_sums_size(int64_t sites) {
  const int64_t blocks = site_blocks(sites), words = 3 * blocks;
  return (blocks * kBlockSites + block_sums_size(sites) + 1 + (words + 1) / 2 + 7) / 8 * 8;
}

inline void prefetch(const void* at) {
  __builtin_prefetch(at);
}

template <class Weights>
class CachedWeightSums : public OneLane {
 public:
  // `values` are the chain's current values. `kept` is its cache, written by build() or by the
  // previous step.
  CachedWeightSums(Weights weights, const uint8_t* values, int64_t sites, double* kept)
      : weights_(weights),
        values_(values),
        sites_(sites),
        blocks_(site_blocks(sites)),
        weight_(kept),
        sums_(weight_ + blocks_ * kBlockSites, blocks_),
        scale_(weight_ + blocks_ * kBlockSites + block_sums_size(sites)),
        changed_(reinterpret_cast<uint32_t*>(scale_ + 1)),
        pending_(changed_ + blocks_),
        removed_{pending_ + blocks_} {}

  // Computes all sums from the current values.
  void build() {
    std::fill_n(sums_.tree.leaf(), sums_.tree.leaves, 0.0);
    std::fill_n(changed_, blocks_, 0u);
    std::fill_n(removed_.word, blocks_, 0u);
    for (int64_t b = 0; b < blocks_; ++b) {
      double* weight = weight_ + b * kBlockSites;
      sums_.scale[b] = block_weights(weights_, values_, sites_, removed_, b, weight);
      sums_.sum[b] = written_sum(weight);
    }
    total();
  }

  // Marks `site`, so that the next flush() recomputes its weight at its current value. Returns it
  // to the pool.
  void invalidate(int64_t site) {
    removed_.erase(site);
    mark(site / kBlockSites, 1u << (site % kBlockSites));
  }

  // Recomputes the sums after the value of `site` has changed.
  void update(int64_t site) {
    invalidate(site);
    flush();
  }

  // Removes `site` from the pool until it is invalidated again.
  void remove(int64_t site) {
    invalidate(site);
    removed_.add(site);
    flush();
  }

  void flush() {
    bool other_scale = false;
    for (int64_t p = 0; p < pending_count_; ++p) {
      const uint32_t block = pending_[p];
      const double before = sums_.scale[block];
      refresh(block);
      const double after = sums_.scale[block];
      other_scale |= before != after && (before == *scale_ || !(after <= *scale_));
    }
    if (!other_scale || largest_scale() == *scale_) {
      for (int64_t p = 0; p < pending_count_; ++p) {
        rescale(pending_[p]);
        sums_.tree.update(pending_[p]);
      }
    } else {
      total();
    }
    pending_count_ = 0;
  }

  // The sum of all weights is exp(scale())·sum().
  double scale() const { return *scale_; }
  double sum() const { return sums_.tree.total(); }

  const Weights& weights() const { return weights_; }

  // Finds the block of a draw, and prefetches the memory that draw_site() reads.
  TreePosition locate(double u) const {
    TreePosition position;
    position.block = sums_.tree.find(u * sum(), &position.rest);
    prefetch_block(position.block);
    return position;
  }
  int64_t draw_site(const TreePosition& position) const {
    return site_at(weight_ + position.block * kBlockSites, position.block, sites_,
                   unscaled(position.rest, sums_.scale[position.block], *scale_));
  }

  void prefetch_tree() const {
    for (int64_t n = 0; n < 2 * sums_.tree.leaves; n += kLine) prefetch(sums_.tree.node + n);
  }
  // Prefetches what update(site) reads.
  void prefetch_site(int64_t site) const { prefetch_block(site / kBlockSites); }

 private:
  static constexpr int64_t kLine = 8;  // This is a cache line in numbers.

  double largest_scale() const { return *std::max_element(sums_.scale, sums_.scale + blocks_); }

  // Puts all blocks on the largest of their scales and builds the tree.
  void total() {
    *scale_ = largest_scale();
    for (int64_t b = 0; b < blocks_; ++b) rescale(b);
    sums_.tree.build();
  }

  void prefetch_block(int64_t block) const {
    for (int i = 0; i < kBlockSites; i += kLine) prefetch(weight_ + block * kBlockSites + i);
    prefetch(sums_.scale + block);
    prefetch(sums_.sum + block);
  }

  void mark(int64_t block, uint32_t sites) {
    if (changed_[block] == 0) pending_[pending_count_++] = static_cast<uint32_t>(block);
    changed_[block] |= sites;
  }

  double log_weight(int64_t site) const {
    if (site >= sites_ || removed_.contains(site)) return -INFINITY;
    return weights_.log_site_weight(site, values_[site]);
  }

  void refresh(int64_t block) {
    const int64_t first = block * kBlockSites;
    double log_weights[kBlockSites], largest = -INFINITY;
    uint32_t changed = changed_[block];
    for (uint32_t rest = changed; rest != 0; rest &= rest - 1) {
      const int i = __builtin_ctz(rest);
      log_weights[i] = log_weight(first + i);
      largest = std::max(largest, log_weights[i]);
    }
    double scale = block_scale(largest);
    // Otherwise the block keeps its scale: the unchanged sites are below the old maximum, and the
    // largest changed site is on the same scale.
    if (scale != sums_.scale[block]) {
      for (int i = 0; i < kBlockSites; ++i) log_weights[i] = log_weight(first + i);
      scale = block_scale(tree_max(log_weights));
      if (scale != sums_.scale[block]) changed = ~0u;
    }
    double* weight = weight_ + first;
    for (; changed != 0; changed &= changed - 1) {
      const int i = __builtin_ctz(changed);
      weight[i] = scaled_weight(log_weights[i], scale);
    }
    sums_.scale[block] = scale;
    sums_.sum[block] = written_sum(weight);
    changed_[block] = 0;
  }

  void rescale(int64_t block) {
    sums_.tree.leaf()[block] = rescaled(sums_.sum[block], sums_.scale[block], *scale_);
  }

  Weights weights_;
  const uint8_t* values_;
  int64_t sites_, blocks_;
  double* weight_;  // [32·blocks]. It is 0 beyond the last site.
  BlockSums sums_;
  double* scale_;
  // `changed_` has a bit for each changed site of a block; `pending_` lists the blocks that have
  // any.
  uint32_t *changed_, *pending_;
  RemovedSites removed_;
  int64_t pending_count_ = 0;
};

}  // namespace isinglass::cpu
