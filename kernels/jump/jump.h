// Proposes locally balanced jumps, which move all sites at once. Each site moves by its own
// transition row for a time τ, with the score s = −∇U held fixed. c is a site's value, θ_{j→k} =
// g(e^{s_k − s_j}), ν = softmax(s), and δ = (k ≠ c), or (k − c)² for ordered values.
//
//   kInterpolation (lbj):   P_k = ν_k (1 − exp(−τ θ_k / ν_k)) for k ≠ c
//   kForwardEuler (lbjf):   P_k = τ' θ_k for k ≠ c, τ' = min(τ, 0.99 / Σθ)
//   kBackwardEuler (lbjb):  row c of (I − τQ)^{-1}, where Q is the rate matrix of θ
//   kLangevin (dlp):        P_k ∝ exp((s_k − s_c)/2 − δ/(2a))
//
// Sun, Dai, Dai, Zhou & Schuurmans 2022, "Discrete Langevin sampler via Wasserstein gradient flow"
// (lbj, lbjf, lbjb); Zhang, Liu & Liu 2022, "A Langevin-like sampler for discrete distributions"
// (dlp). Sites are independent given x, so that log q is the sum over sites, taken in blocks of 32
// (blocks.h). Drawing and both scores share transition_rows.h and, for binary sites, binary_rows.h.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"

namespace isinglass {

enum class JumpRule : int { kInterpolation = 0, kForwardEuler, kBackwardEuler, kLangevin };

constexpr double kMostMoving = 0.99;  // This is 1 − ε of kForwardEuler.
// This bounds K of kBackwardEuler, which takes K³/3 operations per site.
constexpr int kMaxSolvedCategories = 64;

struct JumpShape {
  int64_t chains;
  int64_t sites;
  int categories;  // 2 … 256
  bool one_hot;    // The gradient is [B, D, K] if true, and [B, D] for binary and ordered values.
  JumpRule rule;
  Balancing balancing;

  ISINGLASS_HD bool binary() const { return categories == 2 && !one_hot; }
};

// Draws y ~ q(·|x) and writes log q(y | x).
//   x, y [B, D]; gradient of U at x; rng {seed, step}; chain_ids [B]; scale: τ or a; log_q [B]
ISINGLASS_TWINS(draw_jump, const JumpShape&, const uint8_t* x, const float* gradient,
                const int64_t* rng, const int64_t* chain_ids, ChainScale scale, uint8_t* y,
                double* log_q, Stream)
// Writes log q(to | from), given the gradient at `from`.
ISINGLASS_TWINS(score_jump, const JumpShape&, const uint8_t* from, const float* gradient,
                const uint8_t* to, ChainScale scale, double* log_q, Stream)

}  // namespace isinglass
