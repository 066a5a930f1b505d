// Rounds the weights of a binary lattice of many neighbours (lattice.h) so that sums of a site's
// energies are exact in any order: whether they are kept and updated (kept_fields_cpu.h), come from
// a matrix product (products_cpu.h), or are summed over the neighbours, they are the same bits.
//
// Unary energies and couplings become multiples of q = 2^(e − 51), where 2^e exceeds
// |u_{i,0}| + |u_{i,1}| + Σ_j |c_ij| of every site, so that all partial sums are multiples of q
// below 2^52 q. Numbers that are such multiples already, for example whole numbers, do not change;
// others change by at most q/2, as by the rounding of a sum.
#pragma once

#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {

// Writes the rounded unary [D, 2] and coupling [2E] and returns true, or returns false if the
// lattice has to stay as it is: it is not binary, has tables, few neighbours (less than
// kManyNeighbours on average) or numbers that are not finite; or a site's weights are so much
// smaller than another's that rounding would take digits of them.
inline constexpr double kManyNeighbours = 16;
bool round_for_exact_sums(const Lattice& lattice, double* unary, double* coupling);

}  // namespace isinglass::cpu
