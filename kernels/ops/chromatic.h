// Tensors of chromatic.h: Gibbs sweeps of a lattice by colours.
#pragma once

#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// `steps` sweeps: x uint8 [B, D] and energy float64 [B] in place; beta float64 [B], undefined: 1; the
// lattice must have its colours.
void chromatic_sweep(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta, Tensor& x, Tensor& energy,
                     StepBuffers& counts);

}  // namespace isinglass::ops
