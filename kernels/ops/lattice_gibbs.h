// Runs one-site Gibbs steps of a lattice (kernels/gibbs/lattice_gibbs.h) on tensors.
#pragma once

#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// Performs `steps` steps; x uint8 [B, D] and energy float64 [B] are updated in place.
void lattice_gibbs_steps(const LatticeTensors& lattice, int64_t steps, bool systematic,
                         const Tensor& rng, const Tensor& chain_ids, Tensor& x, Tensor& energy,
                         StepBuffers& counts);

}  // namespace isinglass::ops
