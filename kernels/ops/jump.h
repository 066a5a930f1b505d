// Tensors of jump.h: proposals that move every site at once.
#pragma once

#include "io/torch.h"
#include "kernels/jump/jump.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

// gradient [B, D] (binary, ordered) or [B, D, K] (one-hot); scale float64 [1] or [B, 1]; log_q
// float64 [B].
void draw_jump(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& scale, int64_t categories, JumpRule rule, Balancing balancing,
               Tensor& y, Tensor& log_q);
void score_jump(const Tensor& from, const Tensor& gradient, const Tensor& to, const Tensor& scale,
                int64_t categories, JumpRule rule, Balancing balancing, Tensor& log_q);

// Steps on a lattice (lattice_jump.h), and the thresholds of its neighbourhoods, which are computed
// again where the scale is another: on a CPU; on a GPU in every call, as the scale lies there.
struct LatticeJumps {
  JumpRule rule;
  Balancing balancing;
  bool unadjusted;
  Tensor threshold = {};  // int32 [D, 2, 16]
  double scale = 0;       // of the thresholds; CPU

  // Whether the device has room for a chain: a GPU in a block's shared memory.
  static bool fit(const Tensor& x);
};
// x uint8 [B, D] and energy float64 [B] in place; scale float64 [1].
void lattice_jump_step(const NeighbourhoodTensors& neighbourhoods, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& scale, LatticeJumps& jumps, Tensor& x,
                       Tensor& energy, StepBuffers& counts);

}  // namespace isinglass::ops
