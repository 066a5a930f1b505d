// The two-level weights of one chain (site_weights.h), and the draw of a site from them: CPU twins.
// A twin's Rows gives log_site_weight(site, value).
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/site_lanes_cpu.h"
#include "kernels/site_weights.h"

namespace isinglass::cpu {

// Folds 32 numbers in the order of a warp's butterfly.
template <int count = kBlockSites, class F>
double fold(const double* v, F f) {
  double half[count / 2];
  for (int i = 0; i < count / 2; ++i) half[i] = f(v[i], v[i + count / 2]);
  if constexpr (count == 2) {
    return half[0];
  } else {
    return fold<count / 2>(half, f);
  }
}

inline double tree_sum(const double* v) {
  return fold(v, [](double a, double b) { return a + b; });
}

inline double tree_max(const double* v) {
  return fold(v, [](double a, double b) { return a > b ? a : b; });
}

// A block's sum on the common scale; e^0 is spared.
inline double rescaled(double sum, double scale, double common) {
  return scale == common ? sum : sum * scaled_weight(scale, common);
}

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
    for (int64_t b = 0; b < blocks_; ++b) refresh(b);
    total();
  }

  // After the value of `site` changed: its block again, and the sum of the blocks.
  void update(int64_t site) {
    refresh(site / kBlockSites);
    total();
  }

  // `site` leaves the pool.
  void remove(int64_t site) {
    removed_.add(site);
    update(site);
  }

  double log_total() const { return scale_ + elementary::log(sum_); }

  int64_t draw_site(double u) const {
    double rest;
    const int64_t block = pick(sums_.scaled, blocks_, u * sum_, &rest);
    double log_weight[kBlockSites], weight[kBlockSites];
    log_weights(block, log_weight);
    scaled_weights(log_weight, sums_.scale[block], weight);
    const double target = rest / elementary::exp(sums_.scale[block] - scale_);
    const int64_t first = block * kBlockSites;
    return first + pick(weight, std::min<int64_t>(kBlockSites, sites_ - first), target, &rest);
  }

 private:
  double log_weight(int64_t site) const {
    if (site >= sites_ || removed_.contains(site)) return -INFINITY;
    return rows_.log_site_weight(site, values_ ? values_[site] : 0);
  }

  void log_weights(int64_t block, double* log_weights) const {
    const int64_t first = block * kBlockSites;
    if constexpr (std::is_same_v<Rows, BinaryRows>) {
      if (first + kBlockSites <= sites_ && !(removed_.word && removed_.word[block])) {
        double d[kBlockSites];
        flip_differences(rows_.gradient + first, values_ + first, d);
        return log_balances(rows_.balancing, d, log_weights);
      }
    }
    for (int i = 0; i < kBlockSites; ++i) log_weights[i] = log_weight(first + i);
  }

  void refresh(int64_t block) {
    double log_weight[kBlockSites], weight[kBlockSites];
    log_weights(block, log_weight);
    const double scale = block_scale(tree_max(log_weight));
    scaled_weights(log_weight, scale, weight);
    sums_.scale[block] = scale;
    sums_.sum[block] = tree_sum(weight);
  }

  void total() {
    scale_ = *std::max_element(sums_.scale, sums_.scale + blocks_);
    sum_ = 0;
    for (int64_t b = 0; b < blocks_; ++b) {
      sums_.scaled[b] = rescaled(sums_.sum[b], sums_.scale[b], scale_);
      sum_ += sums_.scaled[b];
    }
  }

  Rows rows_;
  const uint8_t* values_;
  int64_t sites_, blocks_;
  BlockSums sums_;
  RemovedSites removed_;
  double scale_ = 0, sum_ = 0;
};

}  // namespace isinglass::cpu
