// Tensors of free_energy.h and rbm_gibbs.h: the hidden units of an RBM.
#pragma once

#include "io/torch.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/scratch.h"
#include "kernels/ops/swap.h"

namespace isinglass::ops {

using torch::Tensor;

struct HiddenTensors {
  Tensor by_visible;      // Wᵀ float32 [D, H]
  Tensor visible_biases;  // float32 [D]
  Tensor hidden_biases;   // float32 [H]
};

// y uint8 [B, D]; x uint8 [B, D] and its inputs float64 [B, H], both undefined where no evaluation
// is known. Writes inputs float64 [B, H], energy float64 [B] and σ(inputs) float32 [B, H], which
// may be undefined.
void move_hidden(const HiddenTensors& weights, const Tensor& x, const Tensor& inputs_at_x,
                 const Tensor& y, Tensor& inputs, Tensor& energy, const Tensor& on);

// What sweeps read of an RBM: w [H, D] or [H, D, K] and its transpose, each under its biases, in
// tiles (TiledMatrix of rbm_gibbs.h).
struct SweepTensors {
  Tensor to_visible, to_hidden;
  Tensor visible_biases;  // float32 [D] or [D, K]

  static SweepTensors of(const Tensor& w, const Tensor& visible_biases,
                         const Tensor& hidden_biases);
};

// Where chains are on the joint path of an RBM (SweepPath); undefined: at its end.
struct PathTensors {
  Tensor beta;    // float64 [1] or [B]
  Tensor logits;  // float32 [D] or [D, K]
};

// Scratch of sweeps.
struct SweepScratch {
  Scratch visible_inputs;  // float32 [B·D] or [B·D·K]
  Scratch words;           // uint32, on a GPU
};

// `steps` Gibbs sweeps of x uint8 [B, D], inputs float64 [B, H] and energy float64 [B], undefined: not
// wanted, in place.
void sweep_hidden(const SweepTensors& weights, int64_t steps, const Tensor& rng,
                  const Tensor& chain_ids, Tensor& x, Tensor& inputs, const Tensor& energy,
                  SweepScratch& scratch, StepBuffers& counts, const PathTensors& path = {});

// The free energies at β, float64 [B], of states whose inputs are known.
void free_energies(const Tensor& visible_biases, const PathTensors& path, const Tensor& x,
                   const Tensor& inputs, Tensor& energy);

// Those of chains on ladders: at.energy, and of the pairs of rungs that the step measures at.below and
// at.above.
void energies_beside(const Tensor& visible_biases, const Tensor& logits, const Tensor& rung_beta,
                     const MeasuredPairs& measured, const Tensor& rng, const Tensor& x,
                     const Tensor& inputs, RungChainTensors& at);

}  // namespace isinglass::ops
