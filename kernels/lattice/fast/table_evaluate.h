// Computes lattice_evaluate() on a GPU for graphs with neighbourhood tables
// (neighbourhood_table.h). It takes one look-up per site, which reads a quarter of the memory
// sectors. Gradients are the same bits; energies differ by rounding.
#pragma once

#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cuda {

// Writes energy [B] and gradient [B, D], which is null if it is not wanted, for x [B, D]. `parts`
// is scratch memory as in lattice_evaluate().
void table_evaluate(const NeighbourhoodTable&, int64_t chains, const uint8_t* x, double* energy,
                    float* gradient, double* parts, Stream);

}  // namespace isinglass::cuda
