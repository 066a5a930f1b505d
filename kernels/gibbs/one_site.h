// Performs one-site Gibbs sampling (Geman & Geman 1984): chooses a site and draws its value from
// the exact conditional π(x_i = k | rest) ∝ exp(−(U(x with x_i←k) − U(x))). Every draw is accepted.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/accept/step_counts.h"
#include "kernels/base/categorical.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

// Writes the chosen site [B]: step number mod D if `systematic`, uniform otherwise.
ISINGLASS_TWINS(choose_sites, int64_t chains, int64_t sites, bool systematic, const int64_t* rng,
                const int64_t* chain_ids, int64_t* site, Stream)
// Writes the K − 1 states that differ from x at the chosen site, in the order of their values:
// neighbours uint8 [B, K − 1, D].
ISINGLASS_TWINS(one_site_neighbours, int64_t chains, int64_t sites, int categories,
                const uint8_t* x, const int64_t* site, uint8_t* neighbours, Stream)
// Writes difference [B, K] = U(neighbour) − U(x), which is 0 at the current value; neighbour_energy
// [B, K − 1].
ISINGLASS_TWINS(neighbour_differences, int64_t chains, int64_t sites, int categories,
                const uint8_t* x, const int64_t* site, const double* energy,
                const double* neighbour_energy, double* difference, Stream)
// Draws the values and updates x and energy in place. choice [B] is the index of the neighbour
// taken, or −1 if the value stays. The acceptance is 1.
ISINGLASS_TWINS(draw_conditionals, int64_t chains, int64_t sites, int categories,
                const double* difference, const int64_t* site, const int64_t* rng,
                const int64_t* chain_ids, uint8_t* x, double* energy, int64_t* choice,
                const StepCounts&, Stream)

// The functions below do the work of one chain. Both devices call them.
ISINGLASS_HD inline int64_t choose_site(int64_t sites, bool systematic, const int64_t* rng,
                                        int64_t chain_id) {
  if (systematic) return rng[1] % sites;
  return step_draws(rng, chain_id).below(static_cast<uint32_t>(sites), Purpose::kSite);
}

// Returns the value of neighbour n of a site whose value is `current`.
ISINGLASS_HD inline int neighbour_value(int n, int current) {
  return n < current ? n : n + 1;
}

ISINGLASS_HD inline void chain_differences(int64_t c, int64_t sites, int categories,
                                           const uint8_t* x, const int64_t* site,
                                           const double* energy, const double* neighbour_energy,
                                           double* difference) {
  const int current = x[c * sites + site[c]];
  difference[c * categories + current] = 0;
  for (int n = 0; n < categories - 1; ++n) {
    difference[c * categories + neighbour_value(n, current)] =
        neighbour_energy[c * (categories - 1) + n] - energy[c];
  }
}

ISINGLASS_HD inline void draw_chain_conditional(int64_t c, int64_t sites, int categories,
                                                const double* difference, const int64_t* site,
                                                const int64_t* rng, const int64_t* chain_ids,
                                                uint8_t* x, double* energy, int64_t* choice,
                                                const StepCounts& counts) {
  uint8_t& value = x[c * sites + site[c]];
  const double u = step_draws(rng, chain_ids[c]).uniform(Purpose::kValue);
  bool finite;
  const int drawn = draw_conditional(difference + c * categories, categories, value, u, &finite);
  const bool moved = drawn != value;
  if (moved) energy[c] += difference[c * categories + drawn];
  choice[c] = moved ? (drawn < value ? drawn : drawn - 1) : -1;
  value = static_cast<uint8_t>(drawn);
  count_draw(counts, c, moved, finite);
}

}  // namespace isinglass
