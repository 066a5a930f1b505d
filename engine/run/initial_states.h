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
// (models/on_base.h), draws of the base (base_draws.h). A network whose correction is bounded
// has no more than e^{2c} times the base's probability anywhere, so that these are spread more
// widely than the model is. Uniform states may take e^{2c} moves to leave, c being the bound.
torch::Tensor random_states(const EnergyModel& model, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);

}  // namespace isinglass
