// Proposes one-site moves of binary sites from a table of log weights. It serves balancing
// functions that are learned and have no closed form that a kernel could evaluate (Sansone 2022,
// "LSB: local self-balancing MCMC in discrete spaces").
//
//   q(i | x) = exp(w_i) / Σ_j exp(w_j),  y = x with site i flipped,  w = −∞: the site cannot move
//
// A site is drawn by the inverse CDF of the two-level sums of move_weights.h, with one uniform
// number. If no site can move, or a weight is NaN, log q is NaN, which the Metropolis test rejects.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/host_device.h"

namespace isinglass {

constexpr int kBalancings = 4;

struct TableShape {
  int64_t chains;
  int64_t sites;
};

// Gives the weights of one chain.
struct TabulatedWeights {
  const double* log_weights;

  ISINGLASS_HD double log_site_weight(int64_t site, int) const { return log_weights[site]; }
};

// Draws one site of every chain; writes y, the site and log q(y | x).
//   table [B, D]; x, y [B, D]; rng {seed, step}; chain_ids, site, log_q [B];
//   position: index of the uniform number among those of Purpose::kSite;
//   block_sums [B, block_sums_size(D)]: scratch memory
ISINGLASS_TWINS(draw_tabulated_site, const TableShape&, const double* table, const uint8_t* x,
                const int64_t* rng, const int64_t* chain_ids, int64_t position, uint8_t* y,
                int64_t* site, double* block_sums, double* log_q, Stream)
// Writes log q of flipping `site`, given the table at the state before the flip.
ISINGLASS_TWINS(score_tabulated_site, const TableShape&, const double* table, const uint8_t* x,
                const int64_t* site, double* block_sums, double* log_q, Stream)
// Writes log g at t = e^d for every balancing function g (balancing.h): out [4, count] for d
// [count].
ISINGLASS_TWINS(log_balances, int64_t count, const double* d, double* out, Stream)

}  // namespace isinglass
