// Runs the kernels of tempering (kernels/tempering/) on tensors: swaps for C·R chains on a ladder
// of R rungs (swap.h), and mixtures of energies [B], and of gradients or differences [B, …]
// (mixture.h).
#pragma once

#include "io/torch.h"
#include "kernels/base/measured_pairs.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

// Holds the β, float64 [R], and the scales, float64 [R, n], of the rungs (swap.h).
struct RungTensors {
  Tensor beta, scale;
};

struct RungChainTensors {
  Tensor chain;  // int64 [C, R]
  Tensor beta;   // float64 [C·R]
  Tensor scale;  // float64 [C·R, n]
  // float64 [C·R]: U_0 and U. They are undefined if `below` and `above` are given.
  Tensor start, target;
  // float64 [C·R]. Hold U_β of the rungs next to a chain's own, and are undefined if `start`
  // and `target` are given.
  Tensor below, above;
  Tensor energy;  // float64 [C·R]
};

struct SwapSums {
  Tensor rejection, acceptance;  // float64 [C, R − 1], [C, R]
  Tensor end;                    // int64 [C·R]
  Tensor trips;                  // int64 [C]
  Tensor history;                // int16 [H, R]
  Tensor delta_u;                // float64 [S, C, R − 1, 2]
  int64_t first = 0, every = 1;  // Draws are kept in the steps first, first + every, …
  bool all = true;               // If true, every pair is measured in every step.

  MeasuredPairs measured() const { return {first, every, delta_u.size(0), all}; }
};

// Holds the chains at β = 1. states [C·R, D] and x [C, D] have the same type; energy float64 [C].
// `local` is the number of local steps that the chains' sums cover.
struct TopTensors {
  Tensor states, x, energy;
  int64_t local;
};

// Performs one round of swaps, and clears the sums in `chains`; ensemble_ids int64 [C].
void swap_rungs(const RungTensors& rungs, RungChainTensors& at, SwapSums& sums, TopTensors& top,
                const StepBuffers& chains, StepBuffers& counted, const Tensor& rng,
                const Tensor& ensemble_ids);

// Copies the rows of own[i] [C, …] to the rows of chains[i] [C·R, …] that belong to the chains on
// rung 0.
void replace_reference(const Tensor& chain, const Tensor& rng, at::TensorList chains,
                       at::TensorList own);

// Writes out = start + β (target − start), or β·target if start is undefined. target and out are
// float32 or float64 [B, …]; start is the same, or one row of it. beta is float64 with one number
// for all rows, or with n numbers, each for rows / n successive rows.
void mix(const Tensor& start, const Tensor& target, const Tensor& beta, Tensor& out);

}  // namespace isinglass::ops
