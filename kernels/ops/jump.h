// Runs proposals that move every site at once (kernels/jump/jump.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/jump/jump.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

// Draw and score jumps as in jump.h. gradient is [B, D] (binary, ordered) or [B, D, K] (one-hot);
// scale float64 [1] or [B, 1]; log_q float64 [B].
void draw_jump(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& scale, int64_t categories, JumpRule rule, Balancing balancing,
               Tensor& y, Tensor& log_q);
void score_jump(const Tensor& from, const Tensor& gradient, const Tensor& to, const Tensor& scale,
                int64_t categories, JumpRule rule, Balancing balancing, Tensor& log_q);

// Holds the options of steps on a lattice (lattice_jump.h) and the thresholds of its
// neighbourhoods. On a CPU the thresholds are recomputed if the scale has changed; on a GPU in
// every call, because the scale is in device memory.
struct LatticeJumps {
  JumpRule rule;
  Balancing balancing;
  bool unadjusted;
  Tensor threshold = {};  // int32 [D, 2, 16]
  double scale = 0;       // The thresholds belong to this scale. Only a CPU uses it.

  // Returns true if the device has room for a chain; on a GPU, in a block's shared memory.
  static bool fit(int64_t sites, torch::Device device);
};
// Performs `steps` steps; x uint8 [B, D] and energy float64 [B] are updated in place; scale float64
// [1].
void lattice_jump_step(const NeighbourhoodTensors& neighbourhoods, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& scale, LatticeJumps& jumps, Tensor& x,
                       Tensor& energy, StepBuffers& counts);

}  // namespace isinglass::ops
