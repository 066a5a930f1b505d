// Implements the transition rows of jump.h for binary sites, with 31 random bits per site.
//
// A site flips if its bits, an integer below 2^31, are below a threshold T in 1 … 2^31 − 1. T is
// P(flip) of the rule times 2^31, computed in float32 and truncated to an integer. However T is
// rounded, the site flips with probability T/2^31 and stays with probability (2^31 − T)/2^31. log q
// is computed from these numbers, which are exact in float64: rounding changes the proposal, but
// not the correctness of the acceptance. Drawing and scoring get T from the same function, and
// every machine computes the same T, because the sources are compiled without fused multiply-adds.
//
// Beyond |d| = 80 every rule proposes as at 80. If d is not finite, log q is NaN.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/differences.h"
#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"
#include "kernels/jump/jump.h"
#include "kernels/random/philox.h"

namespace isinglass {

constexpr uint32_t kFlipWhole = uint32_t{1} << 31;

// Holds the rule and its parameters, which all sites of a step share.
struct BinaryJumpParameters {
  JumpRule rule;
  Balancing balancing;
  float tau;      // τ of lbj, lbjf and lbjb
  float penalty;  // 1/(2a) of dlp

  ISINGLASS_HD BinaryJumpParameters(const JumpShape& shape, double scale)
      : rule(shape.rule),
        balancing(shape.balancing),
        tau(static_cast<float>(scale)),
        penalty(static_cast<float>(0.5 / scale)) {}
};

ISINGLASS_HD inline float within(float x, float least, float most) {
  const float above = x > least ? x : least;  // NaN gives `least`.
  return above < most ? above : most;
}

// Returns P(flip) at d = s_{1−c} − s_c, |d| ≤ 80. The rule and g are separate arguments, so that a
// loop can hold them constant; the rule and g in `time` are ignored.
ISINGLASS_HD inline float flip_probability(JumpRule rule, Balancing g,
                                           const BinaryJumpParameters& time, float d) {
  if (rule == JumpRule::kLangevin) {
    const float odds = elementary::exp_within(within(0.5f * d - time.penalty, -80, 80));
    return odds / (1 + odds);
  }
  constexpr float kMostRate = 1e30f;
  const float root = elementary::exp_within(0.5f * d), t = root * root;
  const BalancePair rate = balance_pair(g, root);  // {g(e^d), g(e^{−d})}
  const float forward = within(time.tau * rate.forward, 0, kMostRate);
  const float reverse = within(time.tau * rate.reverse, 0, kMostRate);
  if (rule == JumpRule::kForwardEuler) return within(forward, 0, static_cast<float>(kMostMoving));
  if (rule == JumpRule::kBackwardEuler) return forward / (1 + forward + reverse);
  // P = ν(1 − e^{−τθ/ν}) with ν = t/(1 + t), θ/ν = g(t)·(1 + t)/t = g(t) + g(1/t).
  return t / (1 + t) * elementary::one_minus_exp(forward + reverse);
}

ISINGLASS_HD inline int32_t flip_threshold(JumpRule rule, Balancing g,
                                           const BinaryJumpParameters& time, float d) {
  constexpr float kMost = 2147483520;  // This is the largest float32 below 2^31.
  const float p = flip_probability(rule, g, time, within(d, -80, 80));
  return static_cast<int32_t>(within(p * 0x1p31f, 1, kMost));
}

ISINGLASS_HD inline int32_t flip_threshold(const BinaryJumpParameters& time, float d) {
  return flip_threshold(time.rule, time.balancing, time, d);
}

// Returns true if a site flips whose first word (PhiloxStream::site_word()) with purpose kSiteValue
// is `word`.
ISINGLASS_HD inline bool flips(uint32_t word, int32_t threshold) {
  return static_cast<int32_t>(word >> 1) < threshold;
}

// Returns how many of the 2^31 values of a site's bits lead to the given outcome.
ISINGLASS_HD inline uint32_t outcome_count(int32_t threshold, bool flipped) {
  const auto flipping = static_cast<uint32_t>(threshold);
  return flipped ? flipping : kFlipWhole - flipping;
}

// Returns the probability of a site's outcome times 2^31, or NaN if d is not finite.
ISINGLASS_HD inline double outcome_weight(int32_t threshold, bool flipped, float d) {
  const uint32_t weight = outcome_count(threshold, flipped);
  return static_cast<double>(static_cast<int32_t>(weight)) + static_cast<double>(d - d);
}

// Returns the probability of the outcomes of a block, given the product of its 32 outcome weights.
// A missing site has weight 2^31.
ISINGLASS_HD inline double block_probability(double product_of_weights) {
  return product_of_weights * 0x1p-992;
}

}  // namespace isinglass
