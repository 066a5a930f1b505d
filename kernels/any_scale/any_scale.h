// Proposes any-scale moves of ordered sites 0 … K − 1, all at once (Sun, Dai, Sutton, Schuurmans &
// Dai 2023, "Any-scale balanced samplers for discrete spaces", eq. 14 with its missing term).
//
//   logit_i(v) = v·(α c_i + x_i/σ) − ½ v²·(α D_ii + 1/σ),  c = s(x) − W x + Aᵀu,  u = A x + ξ
//
// Here AᵀA = W + D and ξ ~ N(0, I). Then c − D x = s(x) + Aᵀξ, and relative to the current value
//
//   logit_i(v) − logit_i(x_i) = (v − x_i)·α (s_i + (Aᵀξ)_i) − ½ (v − x_i)²·(α D_ii + 1/σ).
//
// This form needs no W, and no terms of the size x²/σ cancel. The reverse from y with the same u is
// the same formula with s(y) and ξ′ = u − A y = ξ − A(y − x). log N(u; A x, I) is −½‖ξ‖² up to a
// constant, which cancels in the ratio.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/categorical.h"
#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct OrderedShape {
  int64_t chains, sites;
  int categories;
};

// Holds what a proposal from a state reads.
struct OrderedProposal {
  const float* gradient;   // [B, D]: ∂U/∂x at the state
  const double* noise;     // [B, D]: ξ. Null means A = 0.
  const double* field;     // [B, D]: Aᵀξ. It is null if `noise` is.
  const double* diagonal;  // [D]: D_ii. Null means 0.
  ChainScale scale;        // σ, α
};

// Gives a site's log weights of values, relative to the current value.
struct OrderedLogWeight {
  double slope, curvature;
  int from;

  ISINGLASS_HD double operator()(int v) const {
    const double step = v - from;
    return step * (slope - 0.5 * step * curvature);
  }
};

// Returns the log weights of site i of chain c, whose value is `from`.
ISINGLASS_HD inline OrderedLogWeight ordered_log_weight(const OrderedShape& shape,
                                                        const OrderedProposal& p, int64_t c,
                                                        int64_t i, int from) {
  const double sigma = p.scale.row(c)[0], alpha = p.scale.row(c)[1];
  const int64_t at = c * shape.sites + i;
  const double score = -static_cast<double>(p.gradient[at]) + (p.field ? p.field[at] : 0.0);
  const double diagonal = p.diagonal ? p.diagonal[i] : 0.0;
  return {alpha * score, alpha * diagonal + 1 / sigma, from};
}

// Returns site i's share of log N(u; A x, I).
ISINGLASS_HD inline double log_normal_share(const OrderedShape& shape, const OrderedProposal& p,
                                            int64_t c, int64_t i) {
  if (!p.noise) return 0;
  const double noise = p.noise[c * shape.sites + i];
  return -0.5 * noise * noise;
}

// Draws site i of chain c into y, and writes y − x into `move` unless that is null. Returns the
// site's share of log q(y, u | x). `Row` is Categorical, or a class with its functions, of the
// site's log weights.
template <class Row>
ISINGLASS_HD double draw_ordered_site(const Row& row, const OrderedShape& shape,
                                      const OrderedProposal& p, const PhiloxStream& draws,
                                      int64_t c, int64_t i, const uint8_t* x, uint8_t* y,
                                      double* move) {
  const int64_t at = c * shape.sites + i;
  // The draw returns x if the weights are NaN.
  const int value = row.draw(draws.uniform(Purpose::kValue, static_cast<uint32_t>(i)), x[at]);
  y[at] = static_cast<uint8_t>(value);
  if (move) move[at] = value - x[at];
  return row.log_probability(value) + log_normal_share(shape, p, c, i);
}

// Returns site i's share of log q(to, u | from), given the row at `from`.
template <class Row>
ISINGLASS_HD double score_ordered_site(const Row& row, const OrderedShape& shape,
                                       const OrderedProposal& p, int64_t c, int64_t i,
                                       const uint8_t* to) {
  return row.log_probability(to[c * shape.sites + i]) + log_normal_share(shape, p, c, i);
}

// Draws y and writes log q(y, u | x). x, y uint8 [B, D]; rng {seed, step}; chain_ids [B]; move [B,
// D] or null; log_q [B].
ISINGLASS_TWINS(draw_ordered, const OrderedShape&, const OrderedProposal&, const uint8_t* x,
                const int64_t* rng, const int64_t* chain_ids, uint8_t* y, double* move,
                double* log_q, Stream)
// Writes log_q [B] of the proposal `to` from the state `from`, to which the OrderedProposal
// belongs.
ISINGLASS_TWINS(score_ordered, const OrderedShape&, const OrderedProposal&, const uint8_t* from,
                const uint8_t* to, double* log_q, Stream)

}  // namespace isinglass
