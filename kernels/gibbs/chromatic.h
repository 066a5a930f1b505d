// Gibbs sweeps by colours (Gonzalez, Low, Gretton & Guestrin 2011, "Parallel Gibbs sampling"):
// sites of one colour have no edge among them, so that their exact conditionals do not depend on
// each other, and all are drawn at once; a step goes through all colours.
//
// On a GPU a launch takes many steps, with the chain's state in shared memory; a state that is too large
// for that takes a launch a colour.
//
// Chains may have inverse temperatures: chain c then draws from the conditionals of exp(−β_c U),
// while its energy stays U.
//
// Sites are numbered by their rank, colour by colour; a site's number is site_uniform() of its rank
// in the chain's step: the same on every device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/accept/step_counts.h"
#include "kernels/base/categorical.h"
#include "kernels/lattice/lattice.h"
#include "kernels/random/bernoulli.h"

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
  double beta;

  ISINGLASS_HD double operator[](int k) const { return beta * local_energy(lattice, x, site, k); }
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

ISINGLASS_HD inline bool draw_rank(const BernoulliConditional& conditional, const Draws& draws,
                                   int64_t rank) {
  return conditional.draw(draws, Purpose::kSiteValue, Purpose::kSiteValueRest,
                          static_cast<uint32_t>(rank));
}

// Draws the value of the site of a rank of x [D] at β. A binary site whose d is not finite stays.
// word: the first word of the rank's number; rest(): its second.
template <class Rest>
ISINGLASS_HD inline SiteDraw draw_site(const Lattice& lattice, const Colouring& colouring,
                                       double beta, int64_t rank, uint32_t word, Rest rest,
                                       uint8_t* x) {
  const int64_t site = colouring.site[rank];
  const int from = x[site];
  SiteDraw draw{0, false, true};
  int to = from;
  if (lattice.categories == 2) {
    const double d = flip_energy(lattice, x, site);
    draw.finite = std::isfinite(d);
    if (draw.finite) to = draw_by_word(beta * d, word, rest);
    draw.moved = to != from;
    if (draw.moved) draw.difference = to ? d : -d;
  } else {
    const SiteEnergies energies{lattice, x, site, beta};
    to = draw_conditional(energies, lattice.categories, from, uniform_from_words(word, rest()),
                          &draw.finite);
    draw.moved = to != from;
    if (draw.moved) {
      draw.difference = local_energy(lattice, x, site, to) - local_energy(lattice, x, site, from);
    }
  }
  x[site] = static_cast<uint8_t>(to);
  return draw;
}

// Numbers that sweeps of large states want on a GPU; 0: none.
namespace cuda {
int64_t sweep_scratch(int64_t chains, int64_t sites);
}

// A sweep of every chain in each of `steps` steps: x [B, D] and energy [B] in place. rng {seed,
// step}; chain_ids [B]; beta [B], null: 1; scratch: sweep_scratch() numbers on a GPU.
ISINGLASS_TWINS(chromatic_sweep, const Lattice&, const Colouring&, int64_t chains, int64_t steps,
                const int64_t* rng, const int64_t* chain_ids, const double* beta, uint8_t* x,
                double* energy, const StepCounts&, double* scratch, Stream)

}  // namespace isinglass
