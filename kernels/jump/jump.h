// Locally balanced jumps: every site at once, each by its own transition row after a time τ, with
// the score s = −∇U fixed. c is a site's value, θ_{j→k} = g(e^{s_k − s_j}),
// ν = softmax(s), δ = (k ≠ c), or (k − c)² of ordered values.
//
//   kInterpolation (lbj):   P_k = ν_k (1 − exp(−τ θ_k / ν_k)) for k ≠ c
//   kForwardEuler (lbjf):   P_k = τ' θ_k for k ≠ c, τ' = min(τ, 0.99 / Σθ)
//   kBackwardEuler (lbjb):  row c of (I − τQ)^{-1}, Q the rate matrix θ
//   kLangevin (dlp):        P_k ∝ exp((s_k − s_c)/2 − δ/(2a))
//
// Sun, Dai, Dai, Zhou & Schuurmans 2022, "Discrete Langevin sampler via Wasserstein gradient flow"
// (lbj, lbjf, lbjb); Zhang, Liu & Liu 2022, "A Langevin-like sampler for discrete distributions"
// (dlp). Sites are independent given x: log q is the sum over sites, in blocks of 32 as everywhere.
// Drawing and both scores share transition_rows.h and, for binary sites, binary_rows.h.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"

namespace isinglass {

enum class JumpRule : int { kInterpolation = 0, kForwardEuler, kBackwardEuler, kLangevin };

constexpr double kMostMoving = 0.99;      // 1 − ε of kForwardEuler
constexpr int kMaxSolvedCategories = 64;  // of kBackwardEuler: K³/3 operations a site

struct JumpShape {
  int64_t chains;
  int64_t sites;
  int categories;  // 2 … 256
  bool one_hot;    // gradient [B, D, K]; else [B, D], of binary and ordered values
  JumpRule rule;
  Balancing balancing;

  ISINGLASS_HD bool binary() const { return categories == 2 && !one_hot; }
};

// y ~ q(·|x), and log q(y | x).
//   x, y [B, D]; gradient of U at x; rng {seed, step}; chain_ids [B]; scale: τ, or a; log_q [B]
ISINGLASS_TWINS(draw_jump, const JumpShape&, const uint8_t* x, const float* gradient,
                const int64_t* rng, const int64_t* chain_ids, ChainScale scale, uint8_t* y,
                double* log_q, Stream)
// log q(to | from) with the gradient at `from`.
ISINGLASS_TWINS(score_jump, const JumpShape&, const uint8_t* from, const float* gradient,
                const uint8_t* to, ChainScale scale, double* log_q, Stream)

}  // namespace isinglass
