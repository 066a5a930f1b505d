// Tensors of neighbourhood_table.h and lattice_jump.h: steps on binary graphs of few neighbours, on a CPU.
#pragma once

#include "kernels/jump/jump.h"
#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// The lattice's patterns; undefined tensors where it has none, or is not on a CPU.
PatternTensors find_patterns(const LatticeTensors& lattice);

// lattice_jump.h: the thresholds of the patterns, found anew where the scale is another.
struct LocalJumps {
  JumpRule rule;
  Balancing balancing;
  bool unadjusted;
  Tensor threshold = {};  // int32 [D, 2, 16]
  double scale = 0;       // of the thresholds
};
// x uint8 [B, D] and energy float64 [B] in place; scale float64 [1].
void local_jump_step(const PatternTensors& patterns, const Tensor& rng, const Tensor& chain_ids,
                     const Tensor& scale, LocalJumps& jumps, Tensor& x, Tensor& energy,
                     StepBuffers& counts);

}  // namespace isinglass::ops
