// Tensors of swap.h: ensembles of C·R chains on a ladder of R rungs.
#pragma once

#include "kernels/base/measured_pairs.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// swap.h; rungs' β float64 [R] and scales float64 [R, n].
struct RungTensors {
  Tensor beta, scale;
};

struct RungChainTensors {
  Tensor chain;          // int64 [C, R]
  Tensor beta;           // float64 [C·R]
  Tensor scale;          // float64 [C·R, n]
  Tensor start, target;  // float64 [C·R]: U_0, U; or undefined, and
  Tensor below, above;   // float64 [C·R]: U_β of the rungs next to a chain's own
  Tensor energy;         // float64 [C·R]
};

struct SwapSums {
  Tensor rejection, acceptance;  // float64 [C, R − 1], [C, R]
  Tensor end;                    // int64 [C·R]
  Tensor trips;                  // int64 [C]
  Tensor history;                // int16 [H, R]
  Tensor rises;                  // float64 [S, C, R − 1, 2]
  int64_t first = 0, every = 1;  // the steps of rises: first, first + every, …
  bool all = true;               // every pair is measured in every step

  MeasuredPairs measured() const { return {first, every, rises.size(0), all}; }
};

// states and x: of one type, [C·R, D] and [C, D]; energy float64 [C]. local: steps that the chains'
// sums are of.
struct TopTensors {
  Tensor states, x, energy;
  int64_t local;
};

// One round, after which `chains`' sums begin anew; ensemble_ids int64 [C].
void swap_rungs(const RungTensors& rungs, RungChainTensors& at, SwapSums& sums, TopTensors& top,
                const StepBuffers& chains, StepBuffers& counted, const Tensor& rng,
                const Tensor& ensemble_ids);

// chains[i] [C·R, …] takes over the rows of own[i] [C, …] where the chains of rung 0 are.
void replace_reference(const Tensor& chain, const Tensor& rng, at::TensorList chains,
                       at::TensorList own);

}  // namespace isinglass::ops
