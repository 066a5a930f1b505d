// CPU twin of chromatic.h: within a colour the order of the sites makes no difference.
#include "kernels/chromatic.h"

namespace isinglass::cpu {

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                     const StepCounts& counts, Stream) {
#pragma omp parallel for schedule(static) if (worth_threads(chains * lattice.sites))
  for (int64_t c = 0; c < chains; ++c) {
    const Draws draws = step_draws(rng, chain_ids[c]);
    uint8_t* own = x + c * lattice.sites;
    double difference = 0;
    int64_t hops = 0;
    bool finite = true;
    for (int64_t n = 0; n < lattice.sites; ++n) {
      const SiteDraw draw = draw_site(lattice, draws, colouring.site[n], own);
      difference += draw.difference;
      hops += draw.moved;
      finite = finite && draw.finite;
    }
    energy[c] += difference;
    count_draw(counts, c, hops, finite);
  }
}

}  // namespace isinglass::cpu
