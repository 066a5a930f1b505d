// Pairwise models on a sparse graph: Potts, and with it Ising, Bernoulli and categorical sites.
//
//   U(x) = constant + Σ_i u_{i,x_i} − Σ_{e=(i,j)} c_e δ(x_i, x_j)
//
// Ising, −Σ h_i z_i − Σ_e J_e z_i z_j with z = 2x − 1, is u_{i,k} = −h_i (2k − 1), c = 2J and
// constant = Σ J, by z_i z_j = 2δ(x_i, x_j) − 1. Everything follows from a site's local energies
//
//   e_i(k) = u_{i,k} − Σ_{j ~ i} c_ij δ(x_j, k)
//
// The one-hot gradient is e_i(k), the binary one e_i(1) − e_i(0), and a site's exact difference
// U(x with x_i←k) − U(x) is e_i(k) − e_i(x_i). All sums in float64, in the order of the sites.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

struct Lattice {
  int64_t sites;
  int categories;
  const double* unary;       // [D, K]
  const int64_t* offset;     // [D + 1]: a site's neighbours are offset[i] … offset[i + 1] − 1
  const int32_t* neighbour;  // [2E]
  const double* coupling;    // [2E]
  double constant;
};

// Site i's local energy of value k, given the other sites of x [D].
ISINGLASS_HD inline double local_energy(const Lattice& lattice, const uint8_t* x, int64_t site,
                                        int k) {
  double e = lattice.unary[site * lattice.categories + k];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    e -= lattice.coupling[n] * (x[lattice.neighbour[n]] == k);  // a product: no branch to guess
  }
  return e;
}

// e_i(1) − e_i(0) of a binary site, in one sum: u_{i,1} − u_{i,0} − Σ_{j ~ i} (2x_j − 1) c_ij.
ISINGLASS_HD inline double flip_energy(const Lattice& lattice, const uint8_t* x, int64_t site) {
  double d = lattice.unary[2 * site + 1] - lattice.unary[2 * site];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    d -= lattice.coupling[n] * (2 * x[lattice.neighbour[n]] - 1);
  }
  return d;
}

// Site i's share of U: each edge counts half at both ends.
ISINGLASS_HD inline double site_energy(const Lattice& lattice, const uint8_t* x, int64_t site) {
  const double unary = lattice.unary[site * lattice.categories + x[site]];
  return 0.5 * (unary + local_energy(lattice, x, site, x[site]));
}

// Site i's part of the gradient: one number (binary) or K (one-hot).
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

// Site i's exact differences U(x) − U(x with x_i←k): one number, of its other value (binary), or K.
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

// What lattice_evaluate finds beside the energy, in one pass.
enum class LocalTable : int { kGradient = 0, kDifferences = 1 };

ISINGLASS_HD inline void local_table(const Lattice& lattice, const uint8_t* x, int64_t site,
                                     bool one_hot, LocalTable what, float* table) {
  if (what == LocalTable::kGradient) {
    site_gradient(lattice, x, site, one_hot, table);
  } else {
    site_differences(lattice, x, site, one_hot, table);
  }
}

// A GPU evaluates a large state in parts of so many sites, by a block each, so that a few chains keep
// all of it busy.
constexpr int64_t kPartSites = 8192;
ISINGLASS_HD inline int64_t lattice_parts(int64_t sites) {
  return (sites + kPartSites - 1) / kPartSites;
}

// energy [B]; table [B, D] or [B, D, K], null if not wanted; x [B, D]; parts: of a GPU,
// [lattice_parts(D), B] where there are several.
ISINGLASS_TWINS(lattice_evaluate, const Lattice&, int64_t chains, const uint8_t* x, bool one_hot,
                LocalTable, double* energy, float* table, double* parts, Stream)
// difference [B, K] = U(x with x_site ← k) − U(x); site [B].
ISINGLASS_TWINS(lattice_differences, const Lattice&, int64_t chains, const uint8_t* x,
                const int64_t* site, double* difference, Stream)

}  // namespace isinglass
