// CPU twin of lattice.h.
#include <algorithm>

#include "kernels/lattice/fast/lattice_lanes_cpu.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {

void lattice_evaluate(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                      LocalTable what, double* energy, float* table, Stream) {
  const int64_t stride = lattice.sites * (one_hot ? lattice.categories : 1);
#pragma omp parallel for schedule(static) if (parallel_pays(chains * lattice.sites))
  for (int64_t first = 0; first < chains; first += kChainLanes) {
    evaluate_lanes(lattice, std::min<int64_t>(kChainLanes, chains - first),
                   x + first * lattice.sites, one_hot, what, lane_scratch(lattice.sites),
                   energy + first, table ? table + first * stride : nullptr);
  }
}

void lattice_differences(const Lattice& lattice, int64_t chains, const uint8_t* x,
                         const int64_t* site, double* difference, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(chains * lattice.categories))
  for (int64_t c = 0; c < chains; ++c) {
    const uint8_t* own = x + c * lattice.sites;
    const double here = local_energy(lattice, own, site[c], own[site[c]]);
    for (int k = 0; k < lattice.categories; ++k) {
      difference[c * lattice.categories + k] = local_energy(lattice, own, site[c], k) - here;
    }
  }
}

}  // namespace isinglass::cpu
