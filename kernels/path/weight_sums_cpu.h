// The two-level weights of one chain (move_weights.h), and the draw of a site from them: CPU twins.
// A twin's Rows gives log_site_weight(site, value).
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/path/fast/block_weights_cpu.h"
#include "kernels/path/move_weights.h"

namespace isinglass::cpu {

// The two-level weights of one chain at its current values (null: the rows need none), over the
// sites that are in the pool.
template <class Rows>
class SiteSums {
 public:
  SiteSums(Rows rows, const uint8_t* values, int64_t sites, double* scratch,
           RemovedSites removed = {nullptr})
      : rows_(rows),
        values_(values),
        sites_(sites),
        blocks_(site_blocks(sites)),
        sums_(scratch, blocks_),
        removed_(removed) {
    if (removed_.word) std::fill_n(removed_.word, blocks_, 0u);
    std::fill_n(sums_.tree.leaf(), sums_.tree.leaves, 0.0);
    if constexpr (kFlips) {
      flip_sums(rows_.balancing, rows_.gradient, values_, sites_, sums_.scale, sums_.sum);
    } else {
      for (int64_t b = 0; b < blocks_; ++b) refresh(b);
    }
    total();
  }

  // After the value of `site` changed: its block again, and the sum of the blocks.
  void update(int64_t site) {
    const int64_t block = site / kBlockSites;
    const double before = sums_.scale[block];
    refresh(block);
    if (sums_.scale[block] != before) return total();
    rescale(block);
    sums_.tree.update(block);
  }

  // `site` leaves the pool.
  void remove(int64_t site) {
    removed_.add(site);
    update(site);
  }

  // The sum of all weights is exp(scale())·sum().
  double scale() const { return scale_; }
  double sum() const { return sums_.tree.total(); }
  double log_total() const { return scale_ + elementary::log(sum()); }

  SiteAim aim(double u) const {
    SiteAim aim;
    aim.block = sums_.tree.find(u * sum(), &aim.rest);
    return aim;
  }

  int64_t draw_site(const SiteAim& aim) const {
    double weight[kBlockSites], rest;
    weigh(aim.block, weight);
    const double target = unscaled(aim.rest, sums_.scale[aim.block], scale_);
    const int64_t first = aim.block * kBlockSites;
    return first + pick(weight, std::min<int64_t>(kBlockSites, sites_ - first), target, &rest);
  }
  int64_t draw_site(double u) const { return draw_site(aim(u)); }

 private:
  static constexpr bool kFlips = std::is_same_v<Rows, BinaryRows>;

  double log_weight(int64_t site) const {
    if (site >= sites_ || removed_.contains(site)) return -INFINITY;
    return rows_.log_site_weight(site, values_ ? values_[site] : 0);
  }

  // The weights of a block on its scale, which is returned.
  double weigh(int64_t block, double* weight) const {
    const int64_t first = block * kBlockSites;
    if constexpr (kFlips) {
      return flip_weights(rows_.balancing, rows_.gradient + first, values_ + first, sites_ - first,
                          removed_.word ? removed_.word[block] : 0, weight);
    }
    double log_weights[kBlockSites];
    for (int i = 0; i < kBlockSites; ++i) log_weights[i] = log_weight(first + i);
    const double scale = block_scale(tree_max(log_weights));
    scaled_weights(log_weights, scale, weight);
    return scale;
  }

  void refresh(int64_t block) {
    double weight[kBlockSites];
    sums_.scale[block] = weigh(block, weight);
    sums_.sum[block] = tree_sum(weight);
  }

  void rescale(int64_t block) {
    sums_.tree.leaf()[block] = rescaled(sums_.sum[block], sums_.scale[block], scale_);
  }

  void total() {
    scale_ = *std::max_element(sums_.scale, sums_.scale + blocks_);
    for (int64_t b = 0; b < blocks_; ++b) rescale(b);
    sums_.tree.build();
  }

  Rows rows_;
  const uint8_t* values_;
  int64_t sites_, blocks_;
  BlockSums sums_;
  RemovedSites removed_;
  double scale_ = 0;
};

}  // namespace isinglass::cpu
