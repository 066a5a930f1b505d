// Performs one-site Gibbs sampling of a lattice, many steps in one call. The steps are bitwise
// those of one_site.h with the differences of lattice.h, without launches between them.
#pragma once

#include "kernels/accept/step_counts.h"
#include "kernels/base/categorical.h"
#include "kernels/lattice/lattice.h"
#include "kernels/random/philox.h"

namespace isinglass {

// Gives U(x with x_site←k) − U(x) for each value k, from LocalEnergies or WrittenLocalEnergies.
template <class Energies>
struct ConditionalEnergies {
  const Energies& local;
  double here;  // It is the local energy of the site's current value.

  ISINGLASS_HD double operator[](int k) const { return local[k] - here; }
};

// Performs the steps rng[1] … rng[1] + steps − 1 of one chain, each at one site: at the sites in
// turn if `systematic`, and at uniformly drawn sites otherwise.
template <class Energies>
ISINGLASS_HD inline void chain_gibbs_steps(const Lattice& lattice, int64_t steps, bool systematic,
                                           const int64_t* rng, int64_t chain_id, uint8_t* x,
                                           double& energy, ChainCounts& counts) {
  for (int64_t t = 0; t < steps; ++t) {
    const PhiloxStream draws = step_draws(rng, chain_id, t);
    const int64_t site = systematic
                             ? (rng[1] + t) % lattice.sites
                             : draws.below(static_cast<uint32_t>(lattice.sites), Purpose::kSite);
    const Energies local{lattice, x, site};
    const ConditionalEnergies<Energies> energies{local, local[x[site]]};
    bool finite;
    const int to = draw_conditional(energies, lattice.categories, x[site],
                                    draws.uniform(Purpose::kValue), &finite);
    const bool moved = to != x[site];
    if (moved) energy += energies[to];
    x[site] = static_cast<uint8_t>(to);
    count_draw(counts.pointers(), 0, moved, finite);
  }
}

// Updates x [B, D] and energy [B] in place; rng {seed, step}; chain_ids [B].
ISINGLASS_TWINS(lattice_gibbs_steps, const Lattice&, int64_t chains, int64_t steps, bool systematic,
                const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                const StepCounts&, Stream)

}  // namespace isinglass
