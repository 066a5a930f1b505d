// Runs the kernels of an RBM's hidden units (kernels/rbm/free_energy.h, rbm_gibbs.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/scratch.h"
#include "kernels/ops/tempering.h"

namespace isinglass::ops {

using torch::Tensor;

struct HiddenTensors {
  Tensor by_visible;      // float32 [D, H]: Wᵀ
  Tensor visible_biases;  // float32 [D]
  Tensor hidden_biases;   // float32 [H]
};

// Evaluates y uint8 [B, D]. x uint8 [B, D] and inputs_at_x float64 [B, H] are a known evaluation,
// or both undefined. Writes inputs float64 [B, H], energy float64 [B] and on = σ(inputs) float32
// [B, H], which may be undefined.
void move_hidden(const HiddenTensors& weights, const Tensor& x, const Tensor& inputs_at_x,
                 const Tensor& y, Tensor& inputs, Tensor& energy, const Tensor& on);

// Holds what sweeps read of an RBM: w [H, D] or [H, D, K] and its transpose, each below its biases,
// in tiles (TiledMatrix of rbm_gibbs.h).
struct SweepTensors {
  Tensor to_visible, to_hidden;
  Tensor visible_biases;  // float32 [D] or [D, K]

  static SweepTensors of(const Tensor& w, const Tensor& visible_biases,
                         const Tensor& hidden_biases);
};

// Says where chains are on the path of annealing (SweepPath); undefined at its end, the RBM itself.
struct PathTensors {
  Tensor beta;    // float64 [1] or [B]
  Tensor logits;  // float32 [D] or [D, K]
};

// Holds the scratch memory of sweeps.
struct SweepScratch {
  Scratch visible_inputs;  // float32 [B·D] or [B·D·K]
  Scratch words;           // uint32. Only a GPU uses it.
};

// Performs `steps` Gibbs sweeps. x uint8 [B, D], inputs float64 [B, H] and energy float64 [B] are
// updated in place; energy is undefined if it is not wanted. held: bool [B, D], true at sites that
// keep their values; undefined: none do.
void sweep_hidden(const SweepTensors& weights, int64_t steps, const Tensor& rng,
                  const Tensor& chain_ids, Tensor& x, Tensor& inputs, const Tensor& energy,
                  SweepScratch& scratch, StepBuffers& counts, const PathTensors& path = {},
                  const Tensor& held = {});

// Writes the free energies at β, float64 [B], of states whose inputs are known.
void free_energies(const Tensor& visible_biases, const PathTensors& path, const Tensor& x,
                   const Tensor& inputs, Tensor& energy);

// Writes the same for chains on temperature ladders: at.energy, and for the pairs of rungs that the
// step measures, at.below and at.above.
void energies_at_adjacent_rungs(const Tensor& visible_biases, const Tensor& logits,
                                const Tensor& rung_beta, const MeasuredPairs& measured,
                                const Tensor& rng, const Tensor& x, const Tensor& inputs,
                                RungChainTensors& at);

}  // namespace isinglass::ops
