// Standard normal numbers from Philox by Box & Muller (1958), "A note on the generation of random
// normal deviates": √(−2 log(1 − u₁))·cos(2π u₂), u₁ and u₂ the two 53-bit uniforms of one counter.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

ISINGLASS_HD inline double standard_normal(const Draws& draws, Purpose purpose, uint32_t position) {
  constexpr double kTwoPi = 6.283185307179586477;
  const Philox4x32 r =
      philox4x32(draws.seed, draws.chain, draws.step, static_cast<uint32_t>(purpose), position);
  const double radius = sqrt(-2 * log1p(-uniform_from_words(r.word[0], r.word[1])));
  return radius * cos(kTwoPi * uniform_from_words(r.word[2], r.word[3]));
}

// out [B, D] ~ N(0, I) by (purpose kNoise, position = site); rng {seed, step}; chain_ids [B].
ISINGLASS_TWINS(step_normals, int64_t chains, int64_t sites, const int64_t* rng,
                const int64_t* chain_ids, double* out, Stream)

}  // namespace isinglass
