// Builds the two-level sums of the weights of one chain (move_weights.h) and draws a site from them
// (CPU). `Weights` must have log_site_weight(site, value).
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/base/thread_memory_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/path/fast/block_weights_cpu.h"
#include "kernels/path/fast/row_weights_cpu.h"
#include "kernels/path/move_weights.h"
#include "kernels/random/philox.h"

namespace isinglass::cpu {

// Provides what path_moves.h requires, for chains that are not shared among lanes.
struct OneLane {
  bool leads() const { return true; }
  void sync() const {}
  double site_uniform(const PhiloxStream& draws, int64_t l) const {
    return draws.uniform(Purpose::kSite, static_cast<uint32_t>(l));
  }
};

// Returns the site of a block on which a draw falls. The target is on the block's scale.
inline int64_t site_at(const double* weight, int64_t block, int64_t sites, double target) {
  const int64_t first = block * kBlockSites;
  const auto of_site = [weight](int64_t i) { return weight[i]; };
  return first + inverse_cdf(std::min<int64_t>(kBlockSites, sites - first), of_site, target, 0);
}

template <class Weights>
constexpr bool kFlips = std::is_same_v<Weights, BinaryGradientWeights>;
template <class Weights>
constexpr bool kRows = false;  // True if a site's weight is a sum over its values.
template <class LogWeights>
inline constexpr bool kRows<ValueWeights<LogWeights>> = true;
// True if the weights of all sites are kept in the memory of the thread.
template <class Weights>
constexpr bool kStored = kFlips<Weights> || kRows<Weights>;

// Writes the weights of a block on its scale, and returns the scale. Removed sites, and sites that
// the block lacks, have weight 0. `values` is null if the weights do not depend on values.
template <class Weights>
double block_weights(const Weights& weights, const uint8_t* values, int64_t sites,
                     RemovedSites removed, int64_t block, double* weight) {
  const int64_t first = block * kBlockSites;
  if constexpr (kFlips<Weights>) {
    return flip_weights(weights.balancing, weights.gradient + first, values + first, sites - first,
                        removed.word ? removed.word[block] : 0, weight, weights.beta);
  } else {
    double log_weights[kBlockSites];
    for (int i = 0; i < kBlockSites; ++i) {
      const int64_t site = first + i;
      const bool in_pool = site < sites && !removed.contains(site);
      log_weights[i] =
          in_pool ? weights.log_site_weight(site, values ? values[site] : 0) : -INFINITY;
    }
    const double scale = block_scale(tree_max(log_weights));
    scaled_weights(log_weights, scale, weight);
    return scale;
  }
}

// numbers_of_thread() returns room for `count` numbers of the chain that the calling thread works
// on. reserve_numbers() makes room for the stored weights of `sites` sites, before a parallel
// region, on all threads.
inline double* numbers_of_thread(int64_t count) {
  thread_local std::vector<double> numbers;
  if (std::ssize(numbers) < count) numbers.resize(count);
  return numbers.data();
}
inline void reserve_numbers(bool parallel, int64_t sites) {
  thread_local int64_t reserved = 0;
  const int64_t count = 2 * site_blocks(sites) * kBlockSites;
  reserve_on_threads(parallel, reserved, count, [=] { numbers_of_thread(count); });
}

// Holds the sums at a chain's current values, over the sites in the pool. `values` is null if the
// weights do not depend on values. Stored weights are computed once, and a change of a site
// recomputes only its own. They are in the thread's memory, so that a thread can have only one such
// object at a time.
template <class Weights>
class WeightSums : public OneLane {
 public:
  WeightSums(Weights weights, const uint8_t* values, int64_t sites, double* scratch,
             RemovedSites removed = {nullptr})
      : weights_(weights),
        values_(values),
        sites_(sites),
        blocks_(site_blocks(sites)),
        sums_(scratch, blocks_),
        removed_(removed) {
    if (removed_.word) std::fill_n(removed_.word, blocks_, 0u);
    std::fill_n(sums_.tree.leaf(), sums_.tree.leaves, 0.0);
    if constexpr (kStored<Weights>) {
      log_weight_ = numbers_of_thread(2 * blocks_ * kBlockSites);
      weight_ = log_weight_ + blocks_ * kBlockSites;
    }
    if constexpr (kFlips<Weights>) {
      flip_sums(weights_.balancing, weights_.gradient, values_, sites_,
                {log_weight_, weight_, sums_.scale, sums_.sum}, weights_.beta);
    } else {
      if constexpr (kRows<Weights>) weigh_rows();
      for (int64_t b = 0; b < blocks_; ++b) refresh(b);
    }
    total();
  }

  // Recomputes the weight of `site`, whose value has changed, and the sums that contain it.
  void update(int64_t site) {
    const int64_t block = site / kBlockSites;
    const double before = sums_.scale[block];
    if constexpr (kStored<Weights>) {
      weigh_site(site);
    } else {
      refresh(block);
    }
    if (sums_.scale[block] != before) return total();
    rescale(block);
    sums_.tree.update(block);
  }

  // Removes `site` from the pool.
  void remove(int64_t site) {
    removed_.add(site);
    update(site);
  }

  const Weights& weights() const { return weights_; }

  // The sum of all weights is exp(scale())·sum().
  double scale() const { return scale_; }
  double sum() const { return sums_.tree.total(); }
  double log_total() const { return scale_ + elementary::log(sum()); }

  TreePosition locate(double u) const {
    TreePosition position;
    position.block = sums_.tree.find(u * sum(), &position.rest);
    return position;
  }
  int64_t draw_site(const TreePosition& position) const {
    const double rest = unscaled(position.rest, sums_.scale[position.block], scale_);
    if constexpr (kStored<Weights>) {
      return site_at(weight_ + position.block * kBlockSites, position.block, sites_, rest);
    } else {
      double weight[kBlockSites];
      block_weights(weights_, values_, sites_, removed_, position.block, weight);
      return site_at(weight, position.block, sites_, rest);
    }
  }

 private:
  double log_weight(int64_t site) const {
    if (removed_.contains(site)) return -INFINITY;
    if constexpr (kRows<Weights>) {
      return log_row_sum(weights_, site, values_[site]);
    } else {
      return weights_.log_site_weight(site, values_[site]);
    }
  }
  void weigh_rows() {
    std::fill_n(log_weight_ + sites_, blocks_ * kBlockSites - sites_, -INFINITY);
    for (int64_t i = 0; i < sites_; ++i) log_weight_[i] = log_weight(i);
  }

  // Recomputes a stored weight, and all those of its block only if the scale of the block changes.
  void weigh_site(int64_t site) {
    const int64_t block = site / kBlockSites;
    log_weight_[site] = log_weight(site);
    const double scale = sums_.scale[block];
    // If the new weight is on the block's scale, the block keeps it: no other weight is above it.
    if (block_scale(log_weight_[site]) != scale &&
        block_scale(tree_max(log_weight_ + block * kBlockSites)) != scale) {
      return refresh(block);
    }
    weight_[site] = scaled_weight(log_weight_[site], scale);
    sums_.sum[block] = written_sum(weight_ + block * kBlockSites);
  }

  // Recomputes the scale, the weights and the sum of a block.
  void refresh(int64_t block) {
    if constexpr (kStored<Weights>) {
      const int64_t first = block * kBlockSites;
      sums_.scale[block] = block_scale(tree_max(log_weight_ + first));
      scaled_weights(log_weight_ + first, sums_.scale[block], weight_ + first);
      sums_.sum[block] = tree_sum(weight_ + first);
    } else {
      double weight[kBlockSites];
      sums_.scale[block] = block_weights(weights_, values_, sites_, removed_, block, weight);
      sums_.sum[block] = tree_sum(weight);
    }
  }

  void rescale(int64_t block) {
    sums_.tree.leaf()[block] = rescaled(sums_.sum[block], sums_.scale[block], scale_);
  }

  void total() {
    scale_ = *std::max_element(sums_.scale, sums_.scale + blocks_);
    for (int64_t b = 0; b < blocks_; ++b) rescale(b);
    sums_.tree.build();
  }

  Weights weights_;
  const uint8_t* values_;
  int64_t sites_, blocks_;
  BlockSums sums_;
  RemovedSites removed_;
  // [32·blocks] each, if weights are stored. log_weight_ is −∞ for removed sites and beyond the
  // last site. weight_ is on the scales of the blocks.
  double *log_weight_ = nullptr, *weight_ = nullptr;
  double scale_ = 0;
};

}  // namespace isinglass::cpu
