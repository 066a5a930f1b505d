// Initial states of chains.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Returns uniformly random states of the space (standard normal for continuous ones), which depend
// on the seed and the chain ids.
torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);
// Returns random states of the model: those of its space, or uniform ones within its bounds
// (models/bounds.h).
torch::Tensor random_states(const EnergyModel& model, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);

}  // namespace isinglass
