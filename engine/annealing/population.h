// Resamples annealed chains (population annealing: Hukushima & Iba 2003; Machta 2010). Before the
// temperature falls from T to T', chain i of a group of G gets the weight
//
//   w_i ∝ exp(−(1/T' − 1/T) U(x_i)),  Σ w_i = 1,
//
// and is continued by ⌊G w_i⌋ or ⌊G w_i⌋ + 1 chains, G w_i on average: by as many as there are
// points (j + u)/G, j = 0 … G − 1, in its share of [0, 1), with one uniform number u for the group
// (systematic resampling). Chains of low energy are thus copied in place of chains of high energy.
#pragma once

#include "engine/chain_state.h"

namespace isinglass {

// Returns the chain that each chain continues, int64 [B] on the CPU; a chain that is continued at
// all continues itself. log_weight is float64 [B], finite, without its constant; rng {seed, step}
// and chain_ids int64 [B] are those of the chains. `group` divides B.
torch::Tensor resampled_chains(const torch::Tensor& log_weight, int64_t group,
                               const torch::Tensor& rng, const torch::Tensor& chain_ids);

}  // namespace isinglass
