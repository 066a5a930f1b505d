// Statistics of states, of which effective sample sizes are taken: the energy; the sum of the
// sites' values; the Hamming distance to a fixed state.
//
// The fixed state is a random one that the symmetries of lattices tell apart from its images: as
// far as so many sites allow it, two uniform states, or two of period 2 in the index (and, of a
// square number of sites, in rows, in columns and in both), that a change of all values, a change
// of every second one or a shift takes into each other lie at distances that differ, by √D/16 or
// more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/chain_state.h"

namespace isinglass {

using Statistic = std::function<torch::Tensor(const ChainState&)>;  // float64 [B]

const std::vector<std::string>& statistic_names();

// The fixed state, [1, D], of discrete sites: the same in every run.
torch::Tensor hamming_reference(const StateSpace& space, torch::Device device);

// By one of these names; empty for the energy, which every run records anyway. Throws Error for
// other names, and for the Hamming distance of continuous states.
Statistic make_statistic(const std::string& name, const StateSpace& space, torch::Device device);

}  // namespace isinglass
