// Runs the parts of block-Gibbs steps (kernels/gibbs/block_gibbs.h), which draw a block of sites
// from a set of joint values, on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

struct BlockTensors {
  Tensor entry;    // int32 [N, r]
  Tensor inverse;  // int32 [N]
  Tensor site;     // int32 [B, m]
  Tensor centre;   // int32 [B]
  int64_t categories = 2;
};

// These functions run the kernels of block_gibbs.h. x, u uint8 [B, D]; table float64 [B, N]; energy
// float64 [B]; choice int64 [B].
void choose_blocks(BlockTensors& blocks, bool uniform_centre, const Tensor& rng,
                   const Tensor& chain_ids, const Tensor& x, Tensor& u);
// Writes states uint8 [B·count, D].
void block_states(const BlockTensors& blocks, const Tensor& u, int64_t first, int64_t count,
                  Tensor& states);
void lattice_block_energies(const LatticeTensors& lattice, const BlockTensors& blocks,
                            const Tensor& u, const Tensor& energy, Tensor& table);
void draw_blocks(const BlockTensors& blocks, const Tensor& table, const Tensor& rng,
                 const Tensor& chain_ids, Tensor& x, Tensor& u, Tensor& energy, Tensor& choice,
                 StepBuffers& counts);

}  // namespace isinglass::ops
