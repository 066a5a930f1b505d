// Locally balanced weights of one-site moves, to first order or exact, and their two-level sums.
//
// A move of site i from its current value c to k ≠ c has weight g(e^d), d = s_{i,k} − s_{i,c}, with
// the score s = −∇U fixed, or d = Δ_{i,k}, the exact difference at the current state (samplers.md
// §1). The swaps of a permutation count as sites of one move each. A site's weight is the sum over
// k ≠ c; sites are summed in blocks of 32, each block on a scale near its own maximum, and the
// blocks on the largest of theirs: Σ_b S_b·e^{m_b}, by a tree (sum_tree.h). A change of one site
// recomputes its block and the nodes above it, and nothing is ever subtracted, so that one dominant
// site costs no digits; where a site leaves the pool for good, its weight becomes zero and its
// block is summed again. The CPU and the CUDA twin add the same pairs in the same order (tree_sum,
// warp_sum), so that the interpreter's comparison (tests/simt) is exact; on a GPU weights differ in
// their last digits, as its exp and its fused multiply-adds do, and the sums with them.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/host_device.h"
#include "kernels/path/sum_tree.h"

namespace isinglass {

constexpr int kBlockSites = 32;  // one warp

ISINGLASS_HD inline int64_t site_blocks(int64_t sites) {
  return (sites + kBlockSites - 1) / kBlockSites;
}

// d = s_{i,to} − s_{i,from} from the gradient of U: [D] of binary and ordered values (s_{i,k} =
// k·s_i)
ISINGLASS_HD inline double ordered_difference(const float* gradient, int64_t site, int from,
                                              int to) {
  return static_cast<double>(from - to) * gradient[site];
}
// … and [D, K] of one-hot values.
ISINGLASS_HD inline double one_hot_difference(const float* gradient, int categories, int64_t site,
                                              int from, int to) {
  const float* row = gradient + site * categories;
  return static_cast<double>(row[from]) - row[to];
}

// Binary sites: gradient [D] in the relaxed state; values 0 and 1.
struct BinaryRows {
  const float* gradient;
  Balancing balancing;

  ISINGLASS_HD int categories() const { return 2; }
  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, ordered_difference(gradient, site, from, to));
  }
  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return log_weight(site, from, 1 - from);
  }
  ISINGLASS_HD int draw_value(int64_t, int from, double) const { return 1 - from; }
};

// Categorical sites by gradient [D, K] in the one-hot state.
struct OneHotGradient {
  const float* gradient;
  Balancing balancing;
  int values;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, one_hot_difference(gradient, values, site, from, to));
  }
};

// A neighbour whose energy is not finite is never proposed.
ISINGLASS_HD inline double log_exact_weight(Balancing balancing, float difference) {
  return std::isfinite(difference) ? log_balance(balancing, difference) : -INFINITY;
}

// Categorical sites by exact differences [D, K] at the current values.
struct OneHotDifferences {
  const float* difference;
  Balancing balancing;
  int values;

  ISINGLASS_HD double log_weight(int64_t site, int, int to) const {
    return log_exact_weight(balancing, difference[site * values + to]);
  }
};

// Flips of binary sites, or swaps, by exact differences [D] at the current state.
struct DifferenceRows {
  const float* difference;
  Balancing balancing;

  ISINGLASS_HD double log_weight(int64_t site, int, int) const {
    return log_exact_weight(balancing, difference[site]);
  }
  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return log_weight(site, from, 1 - from);
  }
  ISINGLASS_HD int draw_value(int64_t, int from, double) const { return 1 - from; }
};

// Sites of several other values.
template <class Weights>
struct ValueRows : Weights {
  using Weights::log_weight;
  using Weights::values;

  ISINGLASS_HD int categories() const { return values; }
  ISINGLASS_HD double max_log_weight(int64_t site, int from) const {
    double max = -INFINITY;
    for (int k = 0; k < values; ++k) {
      if (k != from) max = fmax(max, log_weight(site, from, k));
    }
    return max;
  }
  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    const double max = max_log_weight(site, from);
    if (max == -INFINITY) return max;
    double sum = 0;
    for (int k = 0; k < values; ++k) {
      if (k != from) sum += elementary::exp(log_weight(site, from, k) - max);
    }
    return max + elementary::log(sum);
  }
  // The value k ≠ from at quantile u of the site's conditional.
  ISINGLASS_HD int draw_value(int64_t site, int from, double u) const {
    const double max = max_log_weight(site, from);
    double target = u * elementary::exp(log_site_weight(site, from) - max);
    int last = from == 0 ? 1 : 0;
    for (int k = 0; k < values; ++k) {
      if (k == from) continue;
      const double weight = elementary::exp(log_weight(site, from, k) - max);
      if (weight > 0) last = k;
      if (weight > 0 && target < weight) return k;
      target -= weight;
    }
    return last;
  }
};

using OneHotRows = ValueRows<OneHotGradient>;

// The scale of a block whose largest log weight is `max`: the nearest multiple of 64, far from any
// overflow. It stays when the maximum moves a little, and with it the weights of the other sites.
ISINGLASS_HD inline double block_scale(double max) {
  return std::isfinite(max) ? 64 * floor(max / 64 + 0.5) : max;
}

// One chain's sums: for every block a scale and Σ exp(log weight − scale), and the tree of these
// sums on the largest of the scales.
struct BlockSums {
  double* scale;  // −∞ where no site of the block can move
  double* sum;
  SumTree tree;  // leaves: rescaled()

  // In scratch of block_sums_size() numbers.
  ISINGLASS_HD BlockSums(double* scratch, int64_t blocks)
      : scale(scratch), sum(scratch + blocks), tree{scratch + 2 * blocks, tree_leaves(blocks)} {}
};

ISINGLASS_HD inline int64_t block_sums_size(int64_t sites) {
  return 2 * (site_blocks(sites) + tree_leaves(site_blocks(sites)));
}

// The sites of one chain that have left the pool, a bit each: a word for every block.
struct RemovedSites {
  uint32_t* word;  // [⌈D/32⌉]; null: sites stay

  ISINGLASS_HD bool contains(int64_t site) const {
    return word && (word[site / kBlockSites] >> (site % kBlockSites) & 1u) != 0;
  }
  ISINGLASS_HD void add(int64_t site) const {
    word[site / kBlockSites] |= 1u << (site % kBlockSites);
  }
  ISINGLASS_HD void erase(int64_t site) const {
    word[site / kBlockSites] &= ~(1u << (site % kBlockSites));
  }
};

// Scratch numbers of a chain's BlockSums and RemovedSites, and the latter in it, if sites can
// leave.
ISINGLASS_HD inline int64_t sums_scratch(int64_t sites) {
  return block_sums_size(sites) + (site_blocks(sites) + 1) / 2;
}

ISINGLASS_HD inline RemovedSites removed_in(double* scratch, int64_t sites,
                                            bool without_replacement) {
  auto* words = reinterpret_cast<uint32_t*>(scratch + block_sums_size(sites));
  return {without_replacement ? words : nullptr};
}

// exp(v − scale), v below scale + 64; 0 for v = −∞ whatever the scale, NaN for a NaN.
ISINGLASS_HD inline double scaled_weight(double log_weight, double scale) {
  return elementary::exp_below(log_weight - (scale == -INFINITY ? 0.0 : scale));
}

// A block's sum on the common scale; e^0 is spared.
ISINGLASS_HD inline double rescaled(double sum, double scale, double common) {
  return scale == common ? sum : sum * scaled_weight(scale, common);
}

// Where in the sums of a block a target among the rescaled sums lies.
ISINGLASS_HD inline double unscaled(double rest, double scale, double common) {
  return scale == common ? rest : rest / elementary::exp(scale - common);
}

// A draw on its way to a site: its block, and what is left of the target among the rescaled sums.
struct SiteAim {
  int64_t block;
  double rest;
};

// The inverse CDF: the first index whose cumulative weight exceeds target (rounding at the end: the
// last of positive weight). rest = target less the weights before it.
ISINGLASS_HD inline int64_t pick(const double* weight, int64_t count, double target, double* rest) {
  double before = 0, before_last = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (weight[i] > 0) {
      last = i;
      before_last = before;
      if (target < before + weight[i]) break;
    }
    before += weight[i];
  }
  *rest = target - before_last;
  return last;
}

}  // namespace isinglass
