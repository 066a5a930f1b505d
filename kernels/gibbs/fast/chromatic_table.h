// Sweeps of chromatic.h on a graph with neighbourhood tables (neighbourhood_table.h): sixteen chains at a
// time on a CPU, 32 on a GPU.
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

// chromatic_sweep() at β = 1: the same chains, draw for draw.
ISINGLASS_TWINS(table_sweep, const NeighbourhoodTable&, const Colouring&, int64_t chains,
                int64_t steps, const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                double* energy, const StepCounts&, Stream)

namespace cuda {
// Whether they are quicker on a device: there are chains enough to keep it busy by 32, and its blocks
// have shared memory for the states of 32.
bool wants_table_sweep(int64_t chains, int64_t sites, int device);
}  // namespace cuda

}  // namespace isinglass
