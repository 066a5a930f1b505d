// Locally balanced weights of one-site moves (Zanella 2020), to first order or exact, and their
// two-level sums.
//
// A move of site i from its current value c to k ≠ c has weight g(e^d): to first order with
// d = s_{i,k} − s_{i,c} of the fixed score s = −∇U (differences.h), or exact with
// d = Δ_{i,k} = U(x) − U(x with x_i←k) at the current state. The swaps of a permutation count as
// sites of one move each. β scales d where a chain's own is given.
//
// A site's weight is the sum over k ≠ c. Sites are summed in blocks of 32 (blocks.h), each block on
// a scale near its own maximum, and the blocks on the largest of theirs: Σ_b S_b·e^{m_b}, by a tree
// (sum_tree.h). A change of one site recomputes its block and the nodes above it, and nothing is
// ever subtracted, so that one dominant site costs no digits; where a site leaves the pool for
// good, its weight becomes zero and its block is summed again. On a GPU weights differ from the
// CPU's in their last digits, as its exp and its fused multiply-adds do, and the sums with them.
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

// Log weights of binary sites to first order: gradient [D].
struct BinaryGradient {
  const float* gradient;
  Balancing balancing;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, ordered_difference(gradient, site, from, to, beta));
  }
};

// Log weights of ordered sites to first order: gradient [D].
struct OrderedGradient {
  const float* gradient;
  Balancing balancing;
  int values;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, ordered_difference(gradient, site, from, to));
  }
};

// Log weights of categorical sites to first order: gradient [D, K] in the one-hot state.
struct CategoricalGradient {
  const float* gradient;
  Balancing balancing;
  int values;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    return log_balance(balancing, one_hot_difference(gradient, values, site, from, to, beta));
  }
};

// The log weight of an exact difference; a neighbour whose energy is not finite is never proposed.
ISINGLASS_HD inline double log_exact_weight(Balancing balancing, float difference) {
  return std::isfinite(difference) ? log_balance(balancing, difference) : -INFINITY;
}

// Log weights of sites of K values by exact differences [D, K] at the current values.
struct ValueDifferences {
  const float* difference;
  Balancing balancing;
  int values;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int, int to) const {
    return log_exact_weight(balancing, beta * difference[site * values + to]);
  }
};

// Log weights of flips, or of swaps, by exact differences [D] at the current state.
struct FlipDifferences {
  const float* difference;
  Balancing balancing;
  float beta = 1;

  ISINGLASS_HD double log_weight(int64_t site, int, int) const {
    return log_exact_weight(balancing, beta * difference[site]);
  }
};

// Sites of one move each, with its log weight.
template <class LogWeights>
struct FlipWeights : LogWeights {
  using LogWeights::log_weight;

  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return log_weight(site, from, 1 - from);
  }
  ISINGLASS_HD int draw_value(int64_t, int from, double) const { return 1 - from; }
};

// Sites of several other values, with the log weights of a move.
template <class LogWeights>
struct ValueWeights : LogWeights {
  using LogWeights::log_weight;
  using LogWeights::values;

  // Of the moves of a site, by the values that they lead to.
  ISINGLASS_HD auto moves(int64_t site, int from) const {
    return Categorical(values, [this, site, from](int k) -> double {
      return k == from ? -INFINITY : log_weight(site, from, k);
    });
  }
  ISINGLASS_HD double log_site_weight(int64_t site, int from) const {
    return moves(site, from).log_sum();
  }
  // The value k ≠ from at quantile u of the site's conditional.
  ISINGLASS_HD int draw_value(int64_t site, int from, double u) const {
    return moves(site, from).draw(u, from == 0 ? 1 : 0);
  }
};

using BinaryGradientWeights = FlipWeights<BinaryGradient>;
using ExactWeights = FlipWeights<FlipDifferences>;
using CategoricalGradientWeights = ValueWeights<CategoricalGradient>;
using OrderedGradientWeights = ValueWeights<OrderedGradient>;
using ExactValueWeights = ValueWeights<ValueDifferences>;

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

// A block's sum on the common scale; e^0 is spared.
ISINGLASS_HD inline double rescaled(double sum, double scale, double common) {
  return scale == common ? sum : sum * scaled_weight(scale, common);
}

// Where in the sums of a block a target among the rescaled sums lies.
ISINGLASS_HD inline double unscaled(double rest, double scale, double common) {
  return scale == common ? rest : rest / elementary::exp(scale - common);
}

// Where a draw among all sites falls: a block, and what is left of the target within it, on the
// blocks' common scale.
struct TreePosition {
  int64_t block;
  double rest;
};

}  // namespace isinglass
