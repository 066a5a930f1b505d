// The two-level weights of one chain, kept from step to step (CPU): the numbers of SiteSums
// (site_sums_cpu.h), bit for bit, at the cost of what changed.
//
// A site whose weight changed is marked; settle() sums its block again, from the weights of all its
// sites, and the blocks from there on: nothing is ever subtracted. exp is taken again for the
// marked sites only, unless the block's scale changed. The sums before each block are kept as well,
// so that a block is found by bisection.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/site_sums_cpu.h"

namespace isinglass::cpu {

// Numbers of a chain, in whole cache lines.
inline int64_t kept_sums_size(int64_t sites) {
  return (site_blocks(sites) * (2 * kBlockSites + 5) + 3 + 7) / 8 * 8;
}

template <class Rows>
class KeptSums {
 public:
  // values: the chain's present ones; kept: its numbers, from build() or the step before.
  KeptSums(Rows rows, const uint8_t* values, int64_t sites, double* kept)
      : rows_(rows),
        values_(values),
        sites_(sites),
        blocks_(site_blocks(sites)),
        log_weight_(kept),
        weight_(log_weight_ + blocks_ * kBlockSites),
        sums_(weight_ + blocks_ * kBlockSites, blocks_),
        before_(sums_.scaled + blocks_),
        scale_(before_ + blocks_ + 1),
        log_total_(scale_ + 1),
        changed_(reinterpret_cast<uint32_t*>(log_total_ + 1)),
        pending_(changed_ + blocks_) {}

  // From nothing.
  void build() {
    std::fill_n(log_weight_, blocks_ * kBlockSites, -INFINITY);
    std::fill_n(sums_.scale, blocks_, NAN);  // differs from every scale
    std::fill_n(changed_, blocks_, 0u);
    *scale_ = NAN;
    for (int64_t i = 0; i < sites_; ++i) set(i);
    for (int64_t b = 0; b < blocks_; ++b) mark(b, 1u);
    settle();
  }

  // The weight of `site` at its present value, from the next settle() on.
  void set(int64_t site) { put(site, rows_.log_site_weight(site, values_[site])); }

  // After the value of `site` changed.
  void update(int64_t site) {
    set(site);
    settle();
  }

  // `site` leaves the pool, until it is set again.
  void remove(int64_t site) {
    put(site, -INFINITY);
    settle();
  }

  void settle() {
    if (pending_count_ == 0) return;
    uint32_t first = pending_[0];
    bool other_scale = false;
    for (int64_t p = 0; p < pending_count_; ++p) {
      const uint32_t block = pending_[p];
      const double before = sums_.scale[block];
      refresh(block);
      const double after = sums_.scale[block];
      other_scale |= before != after && (before == *scale_ || !(after <= *scale_));
      first = std::min(first, block);
    }
    const double scale =
        other_scale ? *std::max_element(sums_.scale, sums_.scale + blocks_) : *scale_;
    if (scale == *scale_) {
      for (int64_t p = 0; p < pending_count_; ++p) rescale(pending_[p]);
    } else {
      *scale_ = scale;
      first = 0;
      before_[0] = 0;
      for (int64_t b = 0; b < blocks_; ++b) rescale(b);
    }
    for (int64_t b = first; b < blocks_; ++b) before_[b + 1] = before_[b] + sums_.scaled[b];
    *log_total_ = *scale_ + elementary::log(before_[blocks_]);
    pending_count_ = 0;
  }

  double log_total() const { return *log_total_; }

  int64_t draw_site(double u) const {
    const double target = u * before_[blocks_];
    int64_t block = std::upper_bound(before_ + 1, before_ + blocks_ + 1, target) - (before_ + 1);
    if (block == blocks_) {  // by rounding: as pick()
      do --block;
      while (block > 0 && !(sums_.scaled[block] > 0));
    }
    const double rest = (target - before_[block]) / elementary::exp(sums_.scale[block] - *scale_);
    const int64_t first = block * kBlockSites;
    double unused;
    return first +
           pick(weight_ + first, std::min<int64_t>(kBlockSites, sites_ - first), rest, &unused);
  }

 private:
  void put(int64_t site, double log_weight) {
    if (log_weight_[site] == log_weight) return;
    log_weight_[site] = log_weight;
    mark(site / kBlockSites, 1u << (site % kBlockSites));
  }

  void mark(int64_t block, uint32_t sites) {
    if (changed_[block] == 0) pending_[pending_count_++] = static_cast<uint32_t>(block);
    changed_[block] |= sites;
  }

  void refresh(int64_t block) {
    const double* log_weight = log_weight_ + block * kBlockSites;
    double* weight = weight_ + block * kBlockSites;
    uint32_t changed = changed_[block];
    double largest = -INFINITY;
    for (uint32_t rest = changed; rest != 0; rest &= rest - 1) {
      largest = std::max(largest, log_weight[__builtin_ctz(rest)]);
    }
    double scale = block_scale(largest);
    if (scale != sums_.scale[block]) {  // else the maximum is where it was, or among the changed
      scale = block_scale(tree_max(log_weight));
      if (scale != sums_.scale[block]) changed = ~0u;
    }
    for (; changed != 0; changed &= changed - 1) {
      const int i = __builtin_ctz(changed);
      weight[i] = scaled_weight(log_weight[i], scale);
    }
    sums_.scale[block] = scale;
    sums_.sum[block] = tree_sum(weight);
    changed_[block] = 0;
  }

  void rescale(int64_t block) {
    sums_.scaled[block] = rescaled(sums_.sum[block], sums_.scale[block], *scale_);
  }

  Rows rows_;
  const uint8_t* values_;
  int64_t sites_, blocks_;
  double *log_weight_, *weight_;  // [32·blocks]; −∞ and 0 behind the last site
  BlockSums sums_;
  double* before_;  // [blocks + 1]: the scaled sums before each block, and of all
  double *scale_, *log_total_;
  uint32_t *changed_, *pending_;  // a bit each of a block's sites; the blocks with any
  int64_t pending_count_ = 0;
};

}  // namespace isinglass::cpu
