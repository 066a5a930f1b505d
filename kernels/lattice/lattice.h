// Defines pairwise models on a sparse graph: Potts models, and with them Ising models and
// independent Bernoulli or categorical sites.
//
//   U(x) = constant + Σ_i u_{i,x_i} − Σ_{e=(i,j)} c_e(x_i, x_j)
//
// An edge has one coupling c_e, with c_e(k, l) = c_e δ(k, l), or a table of K² couplings. A lattice
// has tables for all edges or for none.
//
// The Ising energy −Σ h_i z_i − Σ_e J_e z_i z_j with z = 2x − 1 has u_{i,k} = −h_i (2k − 1), c = 2J
// and constant = Σ J, because z_i z_j = 2δ(x_i, x_j) − 1. Everything follows from a site's local
// energies
//
//   e_i(k) = u_{i,k} − Σ_{j ~ i} c_ij(k, x_j)
//
// The one-hot gradient is e_i(k), the binary gradient is e_i(1) − e_i(0), and a site's exact
// difference U(x with x_i←k) − U(x) is e_i(k) − e_i(x_i). All sums are in float64, in the order of
// the sites.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

struct Lattice {
  int64_t sites;
  int categories;
  const double* unary;       // [D, K]
  const int64_t* offset;     // [D + 1]. Site i has the neighbours offset[i] … offset[i + 1] − 1.
  const int32_t* neighbour;  // [2E]
  const double* coupling;    // [2E]; null if the edges have tables
  double constant;
  // [2E, K, K]: c_ij(k, l) at [l, k] for the site's value k and the neighbour's value l, so that
  // all k of a state are together. Null if each edge has one coupling.
  const double* table = nullptr;
};

// Limits K where a function holds the energies of a site's values.
constexpr int kMostSiteValues = 256;

// Returns the K couplings of the neighbour n, of a lattice with tables, to the values of its site,
// given the neighbour's value.
ISINGLASS_HD inline const double* table_row(const Lattice& lattice, int64_t n, int value) {
  const int64_t categories = lattice.categories;
  return lattice.table + (n * categories + value) * categories;
}

// Returns c_ij(k, l) of a site and its neighbour n.
ISINGLASS_HD inline double pair_coupling(const Lattice& lattice, int64_t n, int k, int l) {
  return lattice.table ? table_row(lattice, n, l)[k] : lattice.coupling[n] * (k == l);
}

// Returns site i's local energy of value k, given the other sites of x [D].
ISINGLASS_HD inline double local_energy(const Lattice& lattice, const uint8_t* x, int64_t site,
                                        int k) {
  double e = lattice.unary[site * lattice.categories + k];
  if (lattice.table) {
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      e -= table_row(lattice, n, x[lattice.neighbour[n]])[k];
    }
    return e;
  }
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    // The product avoids an unpredictable branch.
    e -= lattice.coupling[n] * (x[lattice.neighbour[n]] == k);
  }
  return e;
}

// Writes local_energy() of all values of a site, bit for bit, in one pass over its neighbours.
ISINGLASS_HD inline void local_energies(const Lattice& lattice, const uint8_t* x, int64_t site,
                                        double* e) {
  const int categories = lattice.categories;
  for (int k = 0; k < categories; ++k) e[k] = lattice.unary[site * categories + k];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    const int value = x[lattice.neighbour[n]];
    if (!lattice.table) {
      e[value] -= lattice.coupling[n];
      continue;
    }
    const double* row = table_row(lattice, n, value);
    for (int k = 0; k < categories; ++k) e[k] -= row[k];
  }
}

// Gives the local energies of a site's values. LocalEnergies sums over the neighbours whenever it
// is asked for one, and WrittenLocalEnergies once for all values, which is faster on a CPU.
struct LocalEnergies {
  const Lattice& lattice;
  const uint8_t* x;
  int64_t site;

  ISINGLASS_HD double operator[](int k) const { return local_energy(lattice, x, site, k); }
};
struct WrittenLocalEnergies {
  double e[kMostSiteValues];

  WrittenLocalEnergies(const Lattice& lattice, const uint8_t* x, int64_t site) {
    local_energies(lattice, x, site, e);
  }
  double operator[](int k) const { return e[k]; }
};

// Returns e_i(1) − e_i(0) of a binary site in one sum: u_{i,1} − u_{i,0} − Σ_{j ~ i} (2x_j − 1)
// c_ij, or with tables u_{i,1} − u_{i,0} − Σ_{j ~ i} (c_ij(1, x_j) − c_ij(0, x_j)).
ISINGLASS_HD inline double flip_energy(const Lattice& lattice, const uint8_t* x, int64_t site) {
  double d = lattice.unary[2 * site + 1] - lattice.unary[2 * site];
  if (lattice.table) {
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      const double* row = table_row(lattice, n, x[lattice.neighbour[n]]);
      d -= row[1] - row[0];
    }
    return d;
  }
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    d -= lattice.coupling[n] * (2 * x[lattice.neighbour[n]] - 1);
  }
  return d;
}

// Returns site i's share of U. Half of each edge counts at either end.
ISINGLASS_HD inline double site_energy(const Lattice& lattice, const uint8_t* x, int64_t site) {
  const double unary = lattice.unary[site * lattice.categories + x[site]];
  return 0.5 * (unary + local_energy(lattice, x, site, x[site]));
}

// Selects the table that lattice_evaluate() computes besides the energy, in the same pass.
enum class LocalTable : int { kGradient = 0, kDifferences = 1 };

// Writes a site's part of the table, one number (binary) or K (one-hot), given its local energies
// and its value. The gradient is e_i(1) − e_i(0) or e_i(k). The differences are
// U(x) − U(x with x_i←k), for the other value of a binary site.
template <class Energies>
ISINGLASS_HD inline void write_table(const Energies& e, int categories, int value, bool one_hot,
                                     LocalTable what, float* own) {
  if (what == LocalTable::kGradient) {
    if (!one_hot) {
      own[0] = static_cast<float>(e[1] - e[0]);
      return;
    }
    for (int k = 0; k < categories; ++k) own[k] = static_cast<float>(e[k]);
    return;
  }
  const double here = e[value];
  if (!one_hot) {
    own[0] = static_cast<float>(here - e[1 - value]);
    return;
  }
  for (int k = 0; k < categories; ++k) {
    own[k] = k == value ? 0 : static_cast<float>(here - e[k]);
  }
}

// Writes the same part of the table [D] or [D, K] of a chain, given its state x [D].
template <class Energies = LocalEnergies>
ISINGLASS_HD inline void local_table(const Lattice& lattice, const uint8_t* x, int64_t site,
                                     bool one_hot, LocalTable what, float* table) {
  write_table(Energies{lattice, x, site}, lattice.categories, x[site], one_hot, what,
              table + site * (one_hot ? lattice.categories : 1));
}

// A GPU evaluates a large state in parts of kPartSites sites, one block each, so that a few chains
// keep the whole GPU busy.
constexpr int64_t kPartSites = 8192;
ISINGLASS_HD inline int64_t lattice_parts(int64_t sites) {
  return (sites + kPartSites - 1) / kPartSites;
}

// Writes energy [B] and table [B, D] or [B, D, K], which is null if it is not wanted, for x [B, D].
// `parts` is scratch memory [lattice_parts(D), B], needed only on a GPU and if there is more than
// one part.
ISINGLASS_TWINS(lattice_evaluate, const Lattice&, int64_t chains, const uint8_t* x, bool one_hot,
                LocalTable, double* energy, float* table, double* parts, Stream)
// Writes difference [B, K] = U(x with x_site ← k) − U(x); site [B].
ISINGLASS_TWINS(lattice_differences, const Lattice&, int64_t chains, const uint8_t* x,
                const int64_t* site, double* difference, Stream)

}  // namespace isinglass
