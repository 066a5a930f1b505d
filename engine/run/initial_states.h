// Where chains begin.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Uniformly random states of the space (standard normal for continuous ones), by the seed.
torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);

}  // namespace isinglass
