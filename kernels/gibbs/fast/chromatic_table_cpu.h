// Sweeps of chromatic.h on a graph with neighbourhood tables (neighbourhood_table.h), for sixteen
// chains at a time (CPU).
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cpu {

// chromatic_sweep(): the same chains, draw for draw.
void table_sweep(const NeighbourhoodTable&, const Colouring&, int64_t chains, int64_t steps,
                 const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                 const StepCounts&);

}  // namespace isinglass::cpu
