// Performs sweeps by colours (Gonzalez, Low, Gretton & Guestrin 2011, "Parallel Gibbs sampling").
// Sites of one colour have no edge between them, so that their exact conditionals do not depend on
// each other and all can be drawn at once. A step goes through all colours. Binary sites can take a
// Metropolis test instead (kernels/random/bernoulli.h).
//
// On a GPU a launch takes many steps, with the chain's state in shared memory; a state that is too
// large for that takes one launch per colour.
//
// Chains may have inverse temperatures: chain c then draws from the conditionals of exp(−β_c U),
// while its stored energy remains U.
//
// Sites are numbered by their rank, colour by colour. A site's random number is site_uniform() of
// its rank in the chain's step, the same on every device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/accept/step_counts.h"
#include "kernels/base/categorical.h"
#include "kernels/lattice/lattice.h"
#include "kernels/random/bernoulli.h"

namespace isinglass {

// Says in which order a sweep goes through the sites, and how it draws binary ones.
struct Colouring {
  int64_t colours;
  const int64_t* offset;  // [colours + 1]. Colour k has the ranks offset[k] … offset[k + 1] − 1.
  const int32_t* site;    // [D]. Lists the sites in the order of their colours.
  SiteRule rule = SiteRule::kHeatBath;
};

// Gives the energies of a site's values, times β, from LocalEnergies or WrittenLocalEnergies.
template <class Energies>
struct TemperedEnergies {
  const Energies& local;
  double beta;

  ISINGLASS_HD double operator[](int k) const { return beta * local[k]; }
};

struct SiteDraw {
  double difference;  // It is the change of U.
  bool moved;
  bool finite;  // It is false if a local energy was not finite.
};

ISINGLASS_HD inline double rank_uniform(const PhiloxStream& draws, int64_t rank) {
  return draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest,
                            static_cast<uint32_t>(rank));
}

ISINGLASS_HD inline bool draw_rank(const BernoulliConditional& conditional,
                                   const PhiloxStream& draws, int64_t rank) {
  return conditional.draw(draws, Purpose::kSiteValue, Purpose::kSiteValueRest,
                          static_cast<uint32_t>(rank));
}

// Draws the value of the site at a rank of x [D] at β. A binary site whose energy difference is not
// finite keeps its value. `word` is the first word of the rank's random number; rest() returns the
// second. Energies is LocalEnergies or WrittenLocalEnergies.
template <class Energies, class Rest>
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
    if (draw.finite) {
      to = colouring.rule == SiteRule::kHeatBath ? draw_by_word(beta * d, word, rest)
                                                 : draw_by_word(beta * d, from != 0, word, rest);
    }
    draw.moved = to != from;
    if (draw.moved) draw.difference = to ? d : -d;
  } else {
    const Energies local{lattice, x, site};
    to = draw_conditional(TemperedEnergies<Energies>{local, beta}, lattice.categories, from,
                          uniform_from_words(word, rest()), &draw.finite);
    draw.moved = to != from;
    if (draw.moved) draw.difference = local[to] - local[from];
  }
  x[site] = static_cast<uint8_t>(to);
  return draw;
}

// Returns how many float64 numbers of scratch memory sweeps of large states need on a GPU; 0 if
// none.
namespace cuda {
int64_t sweep_scratch(int64_t chains, int64_t sites);
}

// Sweeps every chain once in each of `steps` steps; x [B, D] and energy [B] are updated in place.
// rng {seed, step}; chain_ids [B]; beta [B], null for 1; scratch: sweep_scratch() numbers on a GPU.
ISINGLASS_TWINS(chromatic_sweep, const Lattice&, const Colouring&, int64_t chains, int64_t steps,
                const int64_t* rng, const int64_t* chain_ids, const double* beta, uint8_t* x,
                double* energy, const StepCounts&, double* scratch, Stream)

}  // namespace isinglass
