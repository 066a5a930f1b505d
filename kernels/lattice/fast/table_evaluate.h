// lattice_evaluate() on a GPU, of a graph with neighbourhood tables (neighbourhood_table.h): a look-up a site, a
// quarter of the memory's sectors. Gradients are the same bits, energies differ by rounding.
#pragma once

#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cuda {

// energy [B]; gradient [B, D], null if not wanted; x [B, D]; parts as lattice_evaluate() has them.
void table_evaluate(const NeighbourhoodTable&, int64_t chains, const uint8_t* x, double* energy,
                    float* gradient, double* parts, Stream);

}  // namespace isinglass::cuda
