// Computes lattice_evaluate() of a dense binary lattice (lattice.h) from a matrix product (CPU).
// With
//
//   s_i = Σ_j c_ij x_j   and   t_i = Σ_j c_ij
//
// a site's local energies are e_i(1) = u_{i,1} − s_i and e_i(0) = u_{i,0} − (t_i − s_i). The
// lattice has exact sums (exact_sums_cpu.h), so that the results are bitwise those of
// lattice_evaluate().
#pragma once

#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {

// Writes energy [B] and table [B, D] or [B, D, K], which is null if it is not wanted, for x [B, D],
// s [B, D] (float or double) and total t [D].
template <class T>
void evaluate_products(const Lattice& lattice, const double* total, int64_t chains,
                       const uint8_t* x, const T* s, bool one_hot, LocalTable what, double* energy,
                       float* table);

}  // namespace isinglass::cpu
