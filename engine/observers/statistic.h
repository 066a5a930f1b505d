// Statistics of states, for effective sample sizes and R̂: the energy, the sum of the sites'
// values, and the Hamming distance to a fixed reference state.
//
// The reference state is a random one, chosen so that the distance separates states that symmetries
// of lattices map to each other. Such pairs are two uniform states, or two states of period 2 in
// the site index (for a square number of sites also in rows, in columns and in both), that are
// mapped to each other by a change of all values, by a change of every second value, or by a shift.
// Their distances from the reference state differ by √D/16 or more, as far as the number of sites
// allows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/chain_state.h"

namespace isinglass {

using Statistic = std::function<torch::Tensor(const ChainState&)>;  // float64 [B]

const std::vector<std::string>& statistic_names();

// Returns the reference state, [1, D], of a discrete space. It is the same in every run.
torch::Tensor hamming_reference(const StateSpace& space, torch::Device device);

// Returns the statistic of that name; empty for the energy, which every run records anyway. Throws
// Error for other names, and for the Hamming distance of continuous states.
Statistic make_statistic(const std::string& name, const StateSpace& space, torch::Device device);

}  // namespace isinglass
