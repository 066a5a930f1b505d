// Performs the sweeps of chromatic.h on graphs with neighbourhood tables (neighbourhood_table.h):
// for sixteen chains at a time on a CPU, and for 32 on a GPU. If a GPU's blocks cannot hold the
// states of 32 chains, it takes one launch per colour (colour_cuda.h).
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

// Performs chromatic_sweep() at β = 1, with the same random numbers and the same values; scratch as
// there.
ISINGLASS_TWINS(table_sweep, const NeighbourhoodTable&, const Colouring&, int64_t chains,
                int64_t steps, const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                double* energy, const StepCounts&, double* scratch, Stream)

namespace cuda {
// Returns true if these sweeps are faster on the device: there are enough chains to keep it busy
// with 32 per block and shared memory for their states, or the state is too large for chromatic.cu
// anyway.
bool wants_table_sweep(int64_t chains, int64_t sites, int device);
}  // namespace cuda

}  // namespace isinglass
