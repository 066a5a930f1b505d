// Gibbs sweeps by colours (samplers.md §2.1; Gonzalez, Low, Gretton & Guestrin 2011, "Parallel
// Gibbs sampling"): sites of one colour have no edge among them, so that their exact conditionals
// do not depend on each other, and all are drawn at once; a step goes through all colours.
//
// The number of site i is at (kValue, i) of the chain's step: the same on every device.
#pragma once

#include <cstdint>

#include "kernels/gibbs.h"
#include "kernels/lattice.h"

namespace isinglass {

struct Colouring {
  int64_t colours;
  const int64_t* offset;  // [colours + 1] into site
  const int32_t* site;    // [D]: the sites, colour by colour
};

// The energies of a site's values, given the others.
struct SiteEnergies {
  const Lattice& lattice;
  const uint8_t* x;
  int64_t site;

  ISINGLASS_HD double operator[](int k) const { return local_energy(lattice, x, site, k); }
};

struct SiteDraw {
  double difference;  // of U
  bool moved;
  bool finite;  // all local energies were
};

// Draws the value of one site of x [D].
ISINGLASS_HD inline SiteDraw draw_site(const Lattice& lattice, const Draws& draws, int64_t site,
                                       uint8_t* x) {
  const SiteEnergies energies{lattice, x, site};
  const double u = draws.uniform(Purpose::kValue, static_cast<uint32_t>(site));
  const int from = x[site];
  SiteDraw draw{0, false, true};
  const int to = draw_conditional(energies, lattice.categories, from, u, &draw.finite);
  draw.moved = to != from;
  if (draw.moved) draw.difference = energies[to] - energies[from];
  x[site] = static_cast<uint8_t>(to);
  return draw;
}

namespace cpu {
// One sweep of every chain: x [B, D] and energy [B] in place. rng {seed, step}; chain_ids [B].
void chromatic_sweep(const Lattice&, const Colouring&, int64_t chains, const int64_t* rng,
                     const int64_t* chain_ids, uint8_t* x, double* energy, const StepCounts&,
                     Stream);
}  // namespace cpu

namespace cuda {
void chromatic_sweep(const Lattice&, const Colouring&, int64_t chains, const int64_t* rng,
                     const int64_t* chain_ids, uint8_t* x, double* energy, const StepCounts&,
                     Stream);
}  // namespace cuda

}  // namespace isinglass
