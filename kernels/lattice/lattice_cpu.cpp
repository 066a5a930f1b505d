// Implements lattice.h on the CPU, with eight chains at a time in vector lanes. On lattices with
// tables the values of a site are in the lanes.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
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

// Chains that are evaluated together on a lattice with tables: they read the same rows of a site's
// tables while these are in a cache.
constexpr int64_t kTogether = 16;

// Evaluates 1 ≤ chains ≤ kTogether chains of a lattice with tables.
ISINGLASS_FLAT_CLONES void evaluate_tables(const Lattice& lattice, int64_t chains, const uint8_t* x,
                                           bool one_hot, LocalTable what, double* energy,
                                           float* table) {
  const int categories = lattice.categories;
  const int64_t sites = lattice.sites, each = one_hot ? categories : 1;
  std::fill_n(energy, chains, lattice.constant);
  for (int64_t i = 0; i < sites; ++i) {
    for (int64_t c = 0; c < chains; ++c) {
      const uint8_t* own = x + c * sites;
      if (!table) {
        energy[c] += site_energy(lattice, own, i);
        continue;
      }
      const WrittenLocalEnergies e(lattice, own, i);
      energy[c] += 0.5 * (lattice.unary[i * categories + own[i]] + e[own[i]]);
      write_table(e, categories, own[i], one_hot, what, table + (c * sites + i) * each);
    }
  }
}

void evaluate_chains(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                     LocalTable what, double* energy, float* table) {
  const int64_t stride = lattice.sites * (one_hot ? lattice.categories : 1);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * lattice.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t first = 0; first < chains; first += kTogether) {
    evaluate_tables(lattice, std::min(kTogether, chains - first), x + first * lattice.sites,
                    one_hot, what, energy + first, table ? table + first * stride : nullptr);
  }
}

}  // namespace

void lattice_evaluate(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                      LocalTable what, double* energy, float* table, double*, Stream) {
  if (lattice.table) return evaluate_chains(lattice, chains, x, one_hot, what, energy, table);
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
    double* row = difference + c * lattice.categories;
    local_energies(lattice, own, site[c], row);
    const double here = row[own[site[c]]];
    for (int k = 0; k < lattice.categories; ++k) row[k] -= here;
  }
}

}  // namespace isinglass::cpu
