// Defines locally balanced weights of one-site moves (Zanella 2020), to first order or exact, and
// their two-level sums.
//
// A move of site i from its current value c to k ≠ c has weight g(e^d). To first order, d = s_{i,k}
// − s_{i,c} with the fixed score s = −∇U (differences.h). Exactly, d = Δ_{i,k} = U(x) − U(x with
// x_i←k) at the current state. The swaps of a permutation are treated as sites with one move each.
// If a chain has its own β, β multiplies d.
//
// A site's weight is the sum over k ≠ c. Sites are summed in blocks of 32 (blocks.h), each block on
// a scale near its own maximum, and the blocks on the largest of their scales: Σ_b S_b·e^{m_b}, by
// a tree (sum_tree.h). A change of one site recomputes its block and the tree nodes above it.
// Nothing is ever subtracted, so that one dominant site costs no digits; if a site leaves the pool
// for good, its weight becomes zero and its block is summed again. On a GPU the weights, and
// therefore the sums, differ from the CPU's in their last digits, because its exp and its fused
// multiply-adds differ.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/blocks.h"
#include "kernels/base/categorical.h"
#include "kernels/base/differences.h"
#include "kernels/base/host_device.h"
#include "kernels/path/sum_tree.h"

namespace isinglass {

// Gives log weights of binary sites to first order: gradient [D].
struct BinaryGradient {
  const float* gradient;
  Balancing balancing;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, ordered_difference(gradient, site, from, to, beta));
  }
};

// Gives log weights of ordered sites to first order: gradient [D].
struct OrderedGradient {
  const float* gradient;
  Balancing balancing;
  int values;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, ordered_difference(gradient, site, from, to));
  }
};

// Gives log weights of categorical sites to first order: gradient [D, K] with respect to the
// one-hot state.
struct CategoricalGradient {
  const float* gradient;
  Balancing balancing;
  int values;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, one_hot_difference(gradient, values, site, from, to, beta));
  }
};

// Returns the log weight of an exact difference. It is −∞ if the neighbour's energy is not finite,
// so that such a neighbour is never proposed.
ISINGLASS_HD inline double log_exact_weight(Balancing balancing, float difference) {
  return std::isfinite(difference) ? log_balance(balancing, difference) : -INFINITY;
}

// Gives log weights of sites of K values by exact differences [D, K] from the current values.
struct ValueDifferences {
  const float* difference;
  Balancing balancing;
  int values;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int, int to) const {
    return log_exact_weight(balancing, beta * difference[site * values + to]);
  }
};

// Gives log weights of flips, or of swaps, by exact differences [D] from the current state.
struct FlipDifferences {
  const float* difference;
  Balancing balancing;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int, int) const {
    return log_exact_weight(balancing, beta * difference[site]);
  }
};

// Gives the weights of sites with one move each, from the log weight of the move.
template <class LogWeights>
struct FlipWeights : LogWeights {
  using LogWeights::log_weight;

  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return log_weight(site, from, 1 - from);
  }
  ISINGLASS_HD int draw_value(int64_t, int from, double) const { return 1 - from; }
};

// Gives the weights of sites with several other values, from the log weight of each move.
template <class LogWeights>
struct ValueWeights : LogWeights {
  using LogWeights::log_weight;
  using LogWeights::values;

  // Returns the distribution of a site's moves over the values that they lead to.
  ISINGLASS_HD auto moves(int64_t site, int from) const {
    return Categorical(values, [this, site, from](int k) -> double {
      return k == from ? -INFINITY : log_weight(site, from, k);
    });
  }
  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return moves(site, from).log_sum();
  }
  // Returns the value k ≠ from at quantile u of the site's conditional distribution.
  ISINGLASS_HD int draw_value(int64_t site, int from, double u) const {
    return moves(site, from).draw(u, from == 0 ? 1 : 0);
  }
};

using BinaryGradientWeights = FlipWeights<BinaryGradient>;
using ExactWeights = FlipWeights<FlipDifferences>;
using CategoricalGradientWeights = ValueWeights<CategoricalGradient>;
using OrderedGradientWeights = ValueWeights<OrderedGradient>;
using ExactValueWeights = ValueWeights<ValueDifferences>;

// Returns the scale of a block whose largest log weight is `max`: the nearest multiple of 64, far
// from any overflow. The scale, and with it the weights of the other sites, stays the same if the
// maximum moves a little.
ISINGLASS_HD inline double block_scale(double max) {
  return std::isfinite(max) ? 64 * floor(max / 64 + 0.5) : max;
}

// Holds one chain's sums: for every block a scale and Σ exp(log weight − scale), and the tree of
// these sums on the largest of the scales.
struct BlockSums {
  double* scale;  // It is −∞ if no site of the block can move.
  double* sum;
  SumTree tree;  // Its leaves hold rescaled() sums.

  // Places the sums in `scratch`, which has block_sums_size() numbers.
  ISINGLASS_HD BlockSums(double* scratch, int64_t blocks)
      : scale(scratch), sum(scratch + blocks), tree{scratch + 2 * blocks, tree_leaves(blocks)} {}
};

ISINGLASS_HD inline int64_t block_sums_size(int64_t sites) {
  return 2 * (site_blocks(sites) + tree_leaves(site_blocks(sites)));
}

// Marks the sites of one chain that have left the pool, with one bit each and one word per block.
struct RemovedSites {
  uint32_t* word;  // [⌈D/32⌉]. It is null if sites never leave the pool.

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

// sums_scratch() returns how many scratch numbers a chain's BlockSums and RemovedSites need
// together. removed_in() returns the RemovedSites in that scratch memory, or none if sites never
// leave the pool.
ISINGLASS_HD inline int64_t sums_scratch(int64_t sites) {
  return block_sums_size(sites) + (site_blocks(sites) + 1) / 2;
}

ISINGLASS_HD inline RemovedSites removed_in(double* scratch, int64_t sites,
                                            bool without_replacement) {
  auto* words = reinterpret_cast<uint32_t*>(scratch + block_sums_size(sites));
  return {without_replacement ? words : nullptr};
}

// Returns a block's sum on the common scale. It avoids the exponential if the scales are equal.
ISINGLASS_HD inline double rescaled(double sum, double scale, double common) {
  return scale == common ? sum : sum * scaled_weight(scale, common);
}

// Converts a target from the common scale to the scale of its block.
ISINGLASS_HD inline double unscaled(double rest, double scale, double common) {
  return scale == common ? rest : rest / elementary::exp(scale - common);
}

// Says where a draw among all sites falls: the block, and the rest of the target within it, on the
// common scale of the blocks.
struct TreePosition {
  int64_t block;
  double rest;
};

}  // namespace isinglass
