// One-site proposals on binary sites from a table of log weights, for balancing functions that are
// learned and have no closed form that a kernel could evaluate (Sansone 2022, "LSB: local
// self-balancing MCMC in discrete spaces").
//
//   q(i | x) = exp(w_i) / Σ_j exp(w_j),  y = x with site i flipped,  w = −∞: the site cannot move
//
// The draw is the inverse CDF of the two-level sums of move_weights.h, with one uniform number. No
// site that can move, or a NaN among the weights: log q is NaN, which the Metropolis test rejects.
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

// The weights of one chain.
struct TabulatedWeights {
  const double* log_weights;

  ISINGLASS_HD double log_site_weight(int64_t site, int) const { return log_weights[site]; }
};

// Draws one site of every chain: y, the site and log q(y | x).
//   table [B, D]; x, y [B, D]; rng {seed, step}; chain_ids, site, log_q [B];
//   position: of the uniform number among those of Purpose::kSite
//   block_sums [B, block_sums_size(D)] scratch
ISINGLASS_TWINS(draw_tabulated_site, const TableShape&, const double* table, const uint8_t* x,
                const int64_t* rng, const int64_t* chain_ids, int64_t position, uint8_t* y,
                int64_t* site, double* block_sums, double* log_q, Stream)
// log q of flipping `site`, from the table at the state before the flip.
ISINGLASS_TWINS(score_tabulated_site, const TableShape&, const double* table, const uint8_t* x,
                const int64_t* site, double* block_sums, double* log_q, Stream)
// log g at t = e^d of every balancing function g (balancing.h): out [4, count] of d [count].
ISINGLASS_TWINS(log_balances, int64_t count, const double* d, double* out, Stream)

}  // namespace isinglass
