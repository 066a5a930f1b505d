// Runs Gibbs sweeps of a lattice by colours (kernels/gibbs/chromatic.h) on tensors.
#pragma once

#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// Holds the thresholds that sweeps at several β look up on a lattice with neighbourhood tables
// (kernels/gibbs/fast/chromatic_table_cpu.h). The tensors are undefined if there are none.
struct ThresholdTensors {
  Tensor betas;  // float64 [T]. The numbers increase.
  Tensor row;    // int32 [D]. It depends on the lattice only and is computed once.
  Tensor words;  // uint32 [T, rows, 16]
  int64_t rows = 0;
};

// Sets the thresholds for beta, float64 [B]. Thresholds of this lattice that cover these β are
// kept.
void tabulate_thresholds(const LatticeTensors& lattice, const Tensor& beta,
                         ThresholdTensors& thresholds);

// Performs `steps` sweeps; x uint8 [B, D] and energy float64 [B] are updated in place. beta is
// float64 [B], or undefined for 1. The lattice must have its colours. `thresholds` must belong to
// these β.
void chromatic_sweep(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta,
                     const ThresholdTensors& thresholds, Tensor& x, Tensor& energy,
                     Scratch& scratch, StepBuffers& counts);

}  // namespace isinglass::ops
