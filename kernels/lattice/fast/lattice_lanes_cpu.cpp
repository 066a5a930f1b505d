// See lattice_lanes_cpu.h.
#include "kernels/lattice/fast/lattice_lanes_cpu.h"

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kMostCategories = 256;
constexpr int kTileSites = 8;

// e = local_energy(lattice, x, site, k)
[[gnu::always_inline]] inline void local_energies(const Lattice& lattice, double* lanes,
                                                  int64_t site, int k, Lanes& e) {
  const Lanes none = {}, value = none + k;
  Lanes sum = none + lattice.unary[site * lattice.categories + k];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    const Lanes coupling = none + lattice.coupling[n];
    sum -= lanes_at(lanes, lattice.neighbour[n]) == value ? coupling : none;
  }
  e = sum;
}

// local_table() of binary sites into a tile [8 sites, 8 chains].
[[gnu::always_inline]] inline void fill_tile(LocalTable what, const Lanes& x, double* e,
                                             float* tile) {
  const Lanes up = lanes_at(e, 1) - lanes_at(e, 0), moved = x == 1 ? up : -up;
  const Lanes out = what == LocalTable::kGradient ? up : moved;
  for (int l = 0; l < kChainLanes; ++l) tile[l] = static_cast<float>(out[l]);
}

void store_tile(const float* tile, int64_t first, int64_t end, int64_t chains, int64_t sites,
                float* table) {
  for (int64_t c = 0; c < chains; ++c) {
    for (int64_t i = first; i < end; ++i) {
      table[c * sites + i] = tile[(i - first) * kChainLanes + c];
    }
  }
}

void store_one_hot(LocalTable what, const Lattice& lattice, int64_t chains, int64_t site,
                   const double* e, const Lanes& here, float* table) {
  const int64_t stride = lattice.sites * lattice.categories;
  for (int64_t c = 0; c < chains; ++c) {
    float* row = table + c * stride + site * lattice.categories;
    for (int k = 0; k < lattice.categories; ++k) {
      const double of_k = e[k * kChainLanes + c];
      row[k] = static_cast<float>(what == LocalTable::kGradient ? of_k : here[c] - of_k);
    }
  }
}

}  // namespace

ISINGLASS_VECTOR_CLONES
void evaluate_lanes(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                    LocalTable what, double* lanes, double* energy, float* table) {
  fill_lanes(x, chains, lattice.sites, lanes);
  double e[kMostCategories * kChainLanes];
  float tile[kTileSites * kChainLanes];
  const Lanes none = {};
  Lanes sum = none + lattice.constant;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    const Lanes own = lanes_at(lanes, i);
    Lanes unary = none, here = none;
    for (int k = 0; k < lattice.categories; ++k) {
      local_energies(lattice, lanes, i, k, lanes_at(e, k));
      unary = own == none + k ? none + lattice.unary[i * lattice.categories + k] : unary;
      here = own == none + k ? lanes_at(e, k) : here;
    }
    sum += 0.5 * (unary + here);
    if (table && one_hot) {
      store_one_hot(what, lattice, chains, i, e, here, table);
    } else if (table) {
      fill_tile(what, own, e, tile + i % kTileSites * kChainLanes);
      if (i % kTileSites == kTileSites - 1 || i == lattice.sites - 1) {
        store_tile(tile, i / kTileSites * kTileSites, i + 1, chains, lattice.sites, table);
      }
    }
  }
  for (int64_t c = 0; c < chains; ++c) energy[c] = sum[c];
}

}  // namespace isinglass::cpu
