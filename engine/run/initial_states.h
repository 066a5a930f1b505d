// Initial states of chains.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Returns uniformly random states of the space (standard normal for continuous ones), which depend
// on the seed and the chain ids.
torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);
// Returns random states of the model: those of its space; uniform ones within its bounds
// (models/bounds.h); or, if it is built on a base that has exact draws or sweeps
// (models/on_base.h), draws of the base (base_draws.h): a model whose correction is bounded has
// nearly all of its probability where the base has some, and may hold uniform states for long
// (docs/concepts/residual.md).
torch::Tensor random_states(const EnergyModel& model, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);

}  // namespace isinglass
