// Implements evaluate_lanes() for the vector lengths of AVX-512 and of other machines.
#include "kernels/lattice/fast/lattice_lanes_cpu.h"

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kTileSites = 8;

// Returns local_energy(lattice, x, site, value) in all lanes, given the values' unary energies.
template <int kBytes>
[[gnu::always_inline]] inline ChainLanes<kBytes> local_energies(const Lattice& lattice,
                                                                double* lanes, int64_t site,
                                                                const ChainLanes<kBytes>& value,
                                                                const ChainLanes<kBytes>& unary) {
  using Numbers = ChainLanes<kBytes>;
  const Numbers none = {};
  Numbers sum = unary;
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    const Numbers coupling = Numbers::all(lattice.coupling[n]);
    const Numbers& of_neighbour = lanes_at<kBytes>(lanes, lattice.neighbour[n]);
    sum -= Numbers::where_equal(of_neighbour, value, coupling, none);
  }
  return sum;
}

// Writes local_table() of one binary site into a row of a tile [8 sites, 8 chains].
template <int kBytes>
[[gnu::always_inline]] inline void fill_tile(LocalTable what, const ChainLanes<kBytes>& x,
                                             double* e, float* tile) {
  using Numbers = ChainLanes<kBytes>;
  const Numbers up = lanes_at<kBytes>(e, 1) - lanes_at<kBytes>(e, 0);
  const Numbers moved = Numbers::where_equal(x, Numbers::all(1), up, -up);
  const Numbers& out = what == LocalTable::kGradient ? up : moved;
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
                   const double* e, const double* here, float* table) {
  const int64_t stride = lattice.sites * lattice.categories;
  for (int64_t c = 0; c < chains; ++c) {
    float* row = table + c * stride + site * lattice.categories;
    for (int k = 0; k < lattice.categories; ++k) {
      const double of_k = e[k * kChainLanes + c];
      row[k] = static_cast<float>(what == LocalTable::kGradient ? of_k : here[c] - of_k);
    }
  }
}

template <int kBytes>
[[gnu::always_inline]] inline void evaluate_lanes_of(const Lattice& lattice, int64_t chains,
                                                     const uint8_t* x, bool one_hot,
                                                     LocalTable what, double* lanes, double* energy,
                                                     float* table) {
  using Numbers = ChainLanes<kBytes>;
  fill_lanes(x, chains, lattice.sites, lanes);
  double e[kMostSiteValues * kChainLanes], at_own[kChainLanes];
  float tile[kTileSites * kChainLanes];
  Numbers sum = Numbers::all(lattice.constant);
  for (int64_t i = 0; i < lattice.sites; ++i) {
    const Numbers own = lanes_at<kBytes>(lanes, i);
    Numbers unary = {}, here = {};
    for (int k = 0; k < lattice.categories; ++k) {
      const Numbers value = Numbers::all(k);
      const Numbers unary_of_k = Numbers::all(lattice.unary[i * lattice.categories + k]);
      unary = Numbers::where_equal(own, value, unary_of_k, unary);
      if (!table) continue;
      const Numbers of_k = local_energies<kBytes>(lattice, lanes, i, value, unary_of_k);
      lanes_at<kBytes>(e, k) = of_k;
      here = Numbers::where_equal(own, value, of_k, here);
    }
    if (!table) here = local_energies<kBytes>(lattice, lanes, i, own, unary);
    sum += Numbers::all(0.5) * (unary + here);
    if (table && one_hot) {
      lanes_at<kBytes>(at_own, 0) = here;
      store_one_hot(what, lattice, chains, i, e, at_own, table);
    } else if (table) {
      fill_tile<kBytes>(what, own, e, tile + i % kTileSites * kChainLanes);
      if (i % kTileSites == kTileSites - 1 || i == lattice.sites - 1) {
        store_tile(tile, i / kTileSites * kTileSites, i + 1, chains, lattice.sites, table);
      }
    }
  }
  for (int64_t c = 0; c < chains; ++c) energy[c] = sum[static_cast<int>(c)];
}

}  // namespace

ISINGLASS_BY_WIDTH(void, evaluate_lanes,
                   (const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                    LocalTable what, double* lanes, double* energy, float* table),
                   (lattice, chains, x, one_hot, what, lanes, energy, table))

}  // namespace isinglass::cpu
