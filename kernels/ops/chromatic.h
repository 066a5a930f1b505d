// Tensors of chromatic.h: Gibbs sweeps of a lattice by colours.
#pragma once

#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// What sweeps at several β look up on a lattice with neighbourhood tables
// (kernels/gibbs/fast/chromatic_table_cpu.h); undefined: nothing.
struct ThresholdTensors {
  Tensor betas;  // float64 [T], rising
  Tensor row;    // int32 [D]: of the lattice, found once
  Tensor words;  // uint32 [T, rows, 16]
  int64_t rows = 0;
};

// Sets the thresholds for beta, float64 [B]; keeps those of this lattice for the same β.
void tabulate_thresholds(const LatticeTensors& lattice, const Tensor& beta,
                         ThresholdTensors& thresholds);

// `steps` sweeps: x uint8 [B, D] and energy float64 [B] in place; beta float64 [B], undefined: 1; the
// lattice must have its colours. thresholds: of these β.
void chromatic_sweep(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta,
                     const ThresholdTensors& thresholds, Tensor& x, Tensor& energy,
                     Scratch& scratch, StepBuffers& counts);

}  // namespace isinglass::ops
