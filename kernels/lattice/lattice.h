// Defines pairwise models on a sparse graph: Potts models, and with them Ising models and
// independent Bernoulli or categorical sites.
//
//   U(x) = constant + Σ_i u_{i,x_i} − Σ_{e=(i,j)} c_e δ(x_i, x_j)
//
// The Ising energy −Σ h_i z_i − Σ_e J_e z_i z_j with z = 2x − 1 has u_{i,k} = −h_i (2k − 1), c = 2J
// and constant = Σ J, because z_i z_j = 2δ(x_i, x_j) − 1. Everything follows from a site's local
// energies
//
//   e_i(k) = u_{i,k} − Σ_{j ~ i} c_ij δ(x_j, k)
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
  const double* coupling;    // [2E]
  double constant;
};

// Returns site i's local energy of value k, given the other sites of x [D].
ISINGLASS_HD inline double local_energy(const Lattice& lattice, const uint8_t* x, int64_t site,
                                        int k) {
  double e = lattice.unary[site * lattice.categories + k];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    // The product avoids an unpredictable branch.
    e -= lattice.coupling[n] * (x[lattice.neighbour[n]] == k);
  }
  return e;
}

// Returns e_i(1) − e_i(0) of a binary site in one sum: u_{i,1} − u_{i,0} − Σ_{j ~ i} (2x_j − 1)
// c_ij.
ISINGLASS_HD inline double flip_energy(const Lattice& lattice, const uint8_t* x, int64_t site) {
  double d = lattice.unary[2 * site + 1] - lattice.unary[2 * site];
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

// Writes site i's part of the gradient: one number (binary) or K (one-hot).
ISINGLASS_HD inline void site_gradient(const Lattice& lattice, const uint8_t* x, int64_t site,
                                       bool one_hot, float* gradient) {
  if (!one_hot) {
    gradient[site] =
        static_cast<float>(local_energy(lattice, x, site, 1) - local_energy(lattice, x, site, 0));
    return;
  }
  for (int k = 0; k < lattice.categories; ++k) {
    gradient[site * lattice.categories + k] = static_cast<float>(local_energy(lattice, x, site, k));
  }
}

// Writes site i's exact differences U(x) − U(x with x_i←k): one number for its other value
// (binary), or K (one-hot).
ISINGLASS_HD inline void site_differences(const Lattice& lattice, const uint8_t* x, int64_t site,
                                          bool one_hot, float* difference) {
  const double here = local_energy(lattice, x, site, x[site]);
  if (!one_hot) {
    difference[site] = static_cast<float>(here - local_energy(lattice, x, site, 1 - x[site]));
    return;
  }
  for (int k = 0; k < lattice.categories; ++k) {
    difference[site * lattice.categories + k] =
        k == x[site] ? 0 : static_cast<float>(here - local_energy(lattice, x, site, k));
  }
}

// Selects the table that lattice_evaluate() computes besides the energy, in the same pass.
enum class LocalTable : int { kGradient = 0, kDifferences = 1 };

ISINGLASS_HD inline void local_table(const Lattice& lattice, const uint8_t* x, int64_t site,
                                     bool one_hot, LocalTable what, float* table) {
  if (what == LocalTable::kGradient) {
    site_gradient(lattice, x, site, one_hot, table);
  } else {
    site_differences(lattice, x, site, one_hot, table);
  }
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
