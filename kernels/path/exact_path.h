// Draws paths with exact differences (lb, pas), one move at a time, because every σ_l needs a model
// evaluation of its own.
//
//   L ~ Uniform{1 … n} per chain, as in first_order_path.h; σ_0 = x, …, σ_L = y
//   move l:  σ_l → σ_{l+1} with probability g(e^{Δ(σ_l)}) / Z_g(σ_l), Z_g(σ) = Σ g(e^{Δ(σ)})
//   log q(path | x) = Σ_l log q(σ_{l+1} | σ_l), log q(reversed path | y) = Σ_l log q(σ_l | σ_{l+1})
//
// L = 1 is Zanella 2020, "Informed proposals for local MCMC in discrete spaces"; longer paths are
// Sun et al. 2022, "Path auxiliary proposal for MCMC in discrete space". A move flips a binary
// site, gives a categorical site another value, or swaps two entries of a permutation. One table
// serves both the reverse of the move that led to its state and the next move, so that its sums are
// built once.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/path/move_weights.h"
#include "kernels/random/path_length.h"

namespace isinglass {

enum class Moves : int { kFlips, kValues, kSwaps };

struct ExactPathShape {
  int64_t chains;
  int64_t sites;
  int categories;  // It is the number of values for kValues.
  Moves moves;
  Balancing balancing;
  int64_t max_length;  // L is clamped to this length.

  // Returns how many entries have a weight of their own: the sites, or the pairs (0, 1), (0, 2), …
  // of sites.
  ISINGLASS_HD int64_t entries() const {
    return moves == Moves::kSwaps ? sites * (sites - 1) / 2 : sites;
  }
  ISINGLASS_HD int64_t table_stride() const {
    return entries() * (moves == Moves::kValues ? categories : 1);
  }
  ISINGLASS_HD int64_t state_bytes() const { return sites * (moves == Moves::kSwaps ? 8 : 1); }
};

// Holds each chain's L and the last move.
struct ExactPaths {
  int32_t* length;     // [B]
  int32_t* entry;      // [B]
  uint8_t* from;       // [B]
  double* block_sums;  // [B, block_sums_size(entries)]. It is scratch memory.
};

// Holds the position of one chain on its path.
struct PathPosition {
  int64_t position;  // This many moves have been made.
  int64_t length;    // L
  PhiloxStream draws;
};

ISINGLASS_HD inline PathPosition path_position(const ExactPathShape& shape, int64_t position,
                                               const int64_t* rng, const int64_t* chain_ids,
                                               ChainScale radius, const ExactPaths& paths,
                                               int64_t chain) {
  const PhiloxStream draws = step_draws(rng, chain_ids[chain]);
  const int64_t length = position == 0 ? draw_path_length(draws, radius[chain], shape.max_length)
                                       : static_cast<int64_t>(paths.length[chain]);
  return {position, length, draws};
}

// Returns the values on which the weights depend, or null for swaps, whose weights depend on none.
ISINGLASS_HD inline uint8_t* site_values(const ExactPathShape& shape, uint8_t* y) {
  return shape.moves == Moves::kSwaps ? nullptr : y;
}

// Swaps the entry-th pair of a permutation.
ISINGLASS_HD inline void swap_pair(int64_t* y, int64_t sites, int64_t entry) {
  int64_t i = 0;
  for (; entry >= sites - 1 - i; ++i) entry -= sites - 1 - i;
  const int64_t j = i + 1 + entry, value = y[i];
  y[i] = y[j];
  y[j] = value;
}

ISINGLASS_HD inline void apply_move(const ExactPathShape& shape, uint8_t* y, int64_t entry,
                                    int to) {
  if (shape.moves == Moves::kSwaps) {
    swap_pair(reinterpret_cast<int64_t*>(y), shape.sites, entry);
  } else {
    y[entry] = static_cast<uint8_t>(to);
  }
}

// Calls f with the weights of one chain's table.
template <class F>
ISINGLASS_HD void with_exact_weights(const ExactPathShape& shape, const float* table, F f) {
  if (shape.moves == Moves::kValues) {
    f(ExactValueWeights{{table, shape.balancing, shape.categories}});
  } else {
    f(ExactWeights{{table, shape.balancing}});
  }
}

// Given the differences at y, which is `position` moves after x: scores the reverse of the last
// move, and draws and makes the next one. Position 0 draws L and clears the sums. A chain whose
// path has ended stays.
//   table [B, D], [B, D, K] or [B, D(D−1)/2]; rng {seed, step}; chain_ids [B]; radius: R;
//   y [B, D] uint8, or int64 for swaps; log_forward, log_backward [B]
ISINGLASS_TWINS(advance_exact_path, const ExactPathShape&, int64_t position, const float* table,
                const int64_t* rng, const int64_t* chain_ids, ChainScale radius, uint8_t* y,
                ExactPaths, double* log_forward, double* log_backward, Stream)

}  // namespace isinglass
