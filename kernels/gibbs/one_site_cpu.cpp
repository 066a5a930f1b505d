// Implements one_site.h on the CPU.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/gibbs/one_site.h"

namespace isinglass::cpu {

void choose_sites(int64_t chains, int64_t sites, bool systematic, const int64_t* rng,
                  const int64_t* chain_ids, int64_t* site, Stream) {
  for (int64_t c = 0; c < chains; ++c) site[c] = choose_site(sites, systematic, rng, chain_ids[c]);
}

void one_site_neighbours(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                         const int64_t* site, uint8_t* neighbours, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * sites * categories);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    for (int n = 0; n < categories - 1; ++n) {
      uint8_t* y = neighbours + (c * (categories - 1) + n) * sites;
      std::copy_n(x + c * sites, sites, y);
      y[site[c]] = static_cast<uint8_t>(neighbour_value(n, y[site[c]]));
    }
  }
}

void neighbour_differences(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                           const int64_t* site, const double* energy,
                           const double* neighbour_energy, double* difference, Stream) {
  for (int64_t c = 0; c < chains; ++c) {
    chain_differences(c, sites, categories, x, site, energy, neighbour_energy, difference);
  }
}

void draw_conditionals(int64_t chains, int64_t sites, int categories, const double* difference,
                       const int64_t* site, const int64_t* rng, const int64_t* chain_ids,
                       uint8_t* x, double* energy, int64_t* choice, const StepCounts& counts,
                       Stream) {
  for (int64_t c = 0; c < chains; ++c) {
    draw_chain_conditional(c, sites, categories, difference, site, rng, chain_ids, x, energy,
                           choice, counts);
  }
}

}  // namespace isinglass::cpu
