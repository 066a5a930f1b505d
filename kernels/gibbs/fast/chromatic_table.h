// Sweeps of chromatic.h on a graph with neighbourhood tables (neighbourhood_table.h): sixteen chains at a
// time on a CPU, 32 on a GPU, whose blocks may not hold the states of so many: then by colours
// (colour_cuda.h).
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

// chromatic_sweep() at β = 1: the same chains, draw for draw; scratch as there.
ISINGLASS_TWINS(table_sweep, const NeighbourhoodTable&, const Colouring&, int64_t chains,
                int64_t steps, const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                double* energy, const StepCounts&, double* scratch, Stream)

namespace cuda {
// Whether they are quicker on a device: there are chains enough to keep it busy by 32, and its blocks
// have shared memory for the states of 32; or a state is too large for a block anyhow.
bool wants_table_sweep(int64_t chains, int64_t sites, int device);
}  // namespace cuda

}  // namespace isinglass
