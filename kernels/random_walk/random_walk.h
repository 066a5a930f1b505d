// Proposes random-walk moves (rwm): R distinct sites are chosen uniformly (Floyd's algorithm;
// Bentley & Floyd 1987), and each moves to a uniform other value. The proposal is symmetric. R is
// an integer, 1 ≤ R ≤ D. If R adapts, it is the real-valued mean of a random number L of sites: L ~
// Uniform{1 … n}, n about 2R − 1; or L ~ Uniform{m … D}, m about 2R − D, if 2R − 1 > D.
#pragma once

#include <cstdint>

#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/random/path_length.h"
#include "kernels/random/philox.h"

namespace isinglass {

ISINGLASS_HD inline int64_t flip_count(const PhiloxStream& draws, double radius, bool random_count,
                                       int64_t sites) {
  if (!random_count) return static_cast<int64_t>(radius);
  const double d = static_cast<double>(sites);
  if (2 * radius - 1 <= d) return draw_path_length(draws, radius, sites);
  // D + 1 − L has mean D + 1 − R and is uniform from 1.
  return sites + 1 - draw_path_length(draws, d + 1 - radius, sites);
}

// Moves the sites of one chain; y holds a copy of x on entry.
ISINGLASS_HD inline void flip_uniformly(const PhiloxStream& draws, const uint8_t* x, uint8_t* y,
                                        int64_t sites, int categories, int64_t flips) {
  for (int64_t j = sites - flips; j < sites; ++j) {
    const uint32_t position = static_cast<uint32_t>(j - (sites - flips));
    int64_t site = draws.below(static_cast<uint32_t>(j + 1), Purpose::kSite, position);
    // If the site is taken already, it takes j, which cannot be taken yet.
    if (y[site] != x[site]) site = j;
    const int step = 1 + draws.below(categories - 1, Purpose::kValue, position);
    y[site] = static_cast<uint8_t>((x[site] + step) % categories);
  }
}

// Writes the proposals y. x, y uint8 [B, D]; radius: R, the mean if random_count; rng {seed, step};
// chain_ids [B].
ISINGLASS_TWINS(flip_uniformly, int64_t chains, int64_t sites, int categories, const uint8_t* x,
                const int64_t* rng, const int64_t* chain_ids, ChainScale radius, bool random_count,
                uint8_t* y, Stream)

}  // namespace isinglass
