// Draws standard normal numbers from Philox by Box & Muller (1958), "A note on the generation of
// random normal deviates": √(−2 log(1 − u₁)) times cos(2π u₂) and sin(2π u₂), where u₁ and u₂ are
// the two 53-bit uniforms of one counter. With 32-bit uniforms, which would give four numbers per
// counter, no number would lie beyond 6.7, and the momenta of Hamiltonian steps would not be
// normal.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct NormalPair {
  double number[2];
};

// Defines the Philox call that gives the numbers of the sites i and i + 8 of every 16.
using NormalCall = CallOf<2>;

// Returns the two normal numbers of (u₁, u₂). 1 − u₁ is exact in float64.
ISINGLASS_HD inline NormalPair box_muller(double u1, double u2) {
  const double radius = sqrt(-2 * elementary::log(1 - u1));
  const elementary::SinCos angle = elementary::sincos_of_turn(u2);
  return {{radius * angle.cos, radius * angle.sin}};
}

ISINGLASS_HD inline NormalPair normal_pair(const PhiloxStream& draws, Purpose purpose,
                                           uint32_t position) {
  const Philox4x32 r =
      philox4x32(draws.seed, draws.chain, draws.step, static_cast<uint32_t>(purpose), position);
  return box_muller(uniform_from_words(r.word[0], r.word[1]),
                    uniform_from_words(r.word[2], r.word[3]));
}

// Calls f(site, number) for the sites of `call` that are below `sites`, with the numbers of
// `purpose`.
template <class F>
ISINGLASS_HD inline void each_normal_of(const PhiloxStream& draws, Purpose purpose, NormalCall call,
                                        int64_t sites, F f) {
  const NormalPair pair = normal_pair(draws, purpose, static_cast<uint32_t>(call.number));
  for (int k = 0; k < 2; ++k) {
    if (call.site(k) < sites) f(call.site(k), pair.number[k]);
  }
}

// Returns a single number, which uses a counter of its own.
ISINGLASS_HD inline double standard_normal(const PhiloxStream& draws, Purpose purpose,
                                           uint32_t position) {
  return normal_pair(draws, purpose, position).number[0];
}

// Writes out [B, D] ~ N(0, I) with the purpose kNoise; rng {seed, step}; chain_ids [B].
ISINGLASS_TWINS(step_normals, int64_t chains, int64_t sites, const int64_t* rng,
                const int64_t* chain_ids, double* out, Stream)

}  // namespace isinglass
