// Gibbs sweeps by colours (samplers.md §2.1; Gonzalez, Low, Gretton & Guestrin 2011, "Parallel
// Gibbs sampling"): sites of one colour have no edge among them, so that their exact conditionals
// do not depend on each other, and all are drawn at once; a step goes through all colours.
//
// On a GPU a launch takes many steps, with the chain's state in shared memory where it fits.
//
// Sites are numbered by their rank, colour by colour; a site's number is site_uniform() of its rank
// in the chain's step: the same on every device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/gibbs/one_site.h"
#include "kernels/lattice/lattice.h"

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

ISINGLASS_HD inline double rank_uniform(const Draws& draws, int64_t rank) {
  return draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest,
                            static_cast<uint32_t>(rank));
}

// π(x_i = k | rest) of a binary site as weights, the larger one 1; d = e_i(1) − e_i(0). Beyond ±700
// the smaller one is below every number that could be drawn.
struct FlipWeights {
  double zero, total;

  ISINGLASS_HD explicit FlipWeights(double d) {
    const double size = d < 0 ? -d : d;
    const double least = elementary::exp_within(size < 700 ? -size : -700.0);
    zero = d > 0 ? 1.0 : least;
    total = 1 + least;
  }
  ISINGLASS_HD bool up(double u) const { return u * total >= zero; }
  // Of all numbers that begin with a word, and of none of them.
  ISINGLASS_HD bool surely_up(double word) const { return up(word * kWord); }
  ISINGLASS_HD bool never_up(double word) const { return !up((word + 1) * kWord); }
  // At the number of a rank, whose other words are drawn only where they decide.
  ISINGLASS_HD bool up(const Draws& draws, int64_t rank) const {
    const double word = draws.site_word(Purpose::kSiteValue, static_cast<uint32_t>(rank));
    return surely_up(word) || (!never_up(word) && up(rank_uniform(draws, rank)));
  }

 private:
  static constexpr double kWord = 1.0 / 4294967296.0;
};

// Draws the value of the site of a rank of x [D]. A binary site whose d is not finite stays.
ISINGLASS_HD inline SiteDraw draw_site(const Lattice& lattice, const Colouring& colouring,
                                       const Draws& draws, int64_t rank, uint8_t* x) {
  const int64_t site = colouring.site[rank];
  const int from = x[site];
  SiteDraw draw{0, false, true};
  int to = from;
  if (lattice.categories == 2) {
    const double d = flip_energy(lattice, x, site);
    draw.finite = std::isfinite(d);
    if (draw.finite) to = FlipWeights(d).up(draws, rank);
    draw.moved = to != from;
    if (draw.moved) draw.difference = to ? d : -d;
  } else {
    const SiteEnergies energies{lattice, x, site};
    to = draw_conditional(energies, lattice.categories, from, rank_uniform(draws, rank),
                          &draw.finite);
    draw.moved = to != from;
    if (draw.moved) draw.difference = energies[to] - energies[from];
  }
  x[site] = static_cast<uint8_t>(to);
  return draw;
}

namespace cpu {
// A sweep of every chain in each of `steps` steps: x [B, D] and energy [B] in place. rng {seed,
// step}; chain_ids [B].
void chromatic_sweep(const Lattice&, const Colouring&, int64_t chains, int64_t steps,
                     const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                     const StepCounts&, Stream);
}  // namespace cpu

namespace cuda {
void chromatic_sweep(const Lattice&, const Colouring&, int64_t chains, int64_t steps,
                     const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                     const StepCounts&, Stream);
}  // namespace cuda

}  // namespace isinglass
