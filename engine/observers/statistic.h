// Statistics of states, of which effective sample sizes are taken: the energy; the sum of the
// sites' values; the Hamming distance to a fixed random state.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/chain_state.h"

namespace isinglass {

using Statistic = std::function<torch::Tensor(const ChainState&)>;  // float64 [B]

const std::vector<std::string>& statistic_names();

// By one of these names; empty for the energy, which every run records anyway. Throws Error for
// other names, and for the Hamming distance of continuous states.
Statistic make_statistic(const std::string& name, const StateSpace& space, torch::Device device);

}  // namespace isinglass
