// Implements lattice.h on the CPU, with eight chains at a time in vector lanes.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/lattice/fast/lattice_lanes_cpu.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {
namespace {

// Writes the energies of 1 ≤ chains ≤ 8 on a graph without edges. They are bitwise those of
// evaluate_lanes().
void add_unary(const Lattice& lattice, int64_t chains, const uint8_t* x, double* energy) {
  const uint8_t* chain[kChainLanes];
  double sum[kChainLanes];
  for (int64_t l = 0; l < kChainLanes; ++l) {
    chain[l] = x + std::min(l, chains - 1) * lattice.sites;
    sum[l] = lattice.constant;
  }
  for (int64_t i = 0; i < lattice.sites; ++i) {
    const double* unary = lattice.unary + i * lattice.categories;
    for (int l = 0; l < kChainLanes; ++l) sum[l] += unary[chain[l][i]];
  }
  std::copy_n(sum, chains, energy);
}

}  // namespace

void lattice_evaluate(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                      LocalTable what, double* energy, float* table, double*, Stream) {
  const int64_t stride = lattice.sites * (one_hot ? lattice.categories : 1);
  const bool independent = lattice.offset[lattice.sites] == 0;
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * lattice.sites);
  if (!independent || table) reserve_lane_scratch(loop.on_all_threads(), lattice.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t first = 0; first < chains; first += kChainLanes) {
    const int64_t count = std::min<int64_t>(kChainLanes, chains - first);
    const uint8_t* own = x + first * lattice.sites;
    if (independent && !table) {
      add_unary(lattice, count, own, energy + first);
    } else {
      evaluate_lanes(lattice, count, own, one_hot, what, lane_scratch(lattice.sites),
                     energy + first, table ? table + first * stride : nullptr);
    }
  }
}

void lattice_differences(const Lattice& lattice, int64_t chains, const uint8_t* x,
                         const int64_t* site, double* difference, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * lattice.categories);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    const uint8_t* own = x + c * lattice.sites;
    const double here = local_energy(lattice, own, site[c], own[site[c]]);
    for (int k = 0; k < lattice.categories; ++k) {
      difference[c * lattice.categories + k] = local_energy(lattice, own, site[c], k) - here;
    }
  }
}

}  // namespace isinglass::cpu
