// Batches of states that users give.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Throws Error, which names `title`, unless states and kernels can number the space: 1 to 2^31 − 1
// sites, 2 to 256 values, and of permutations at most 65536 entries, for the sake of their pairs.
void check_space(const StateSpace& space, const std::string& title);

// The batch of states x in the space's dtype. Discrete values may have any type of whole numbers,
// or be truth values. Throws Error as check_states() does.
torch::Tensor as_states(const StateSpace& space, const torch::Tensor& x, const std::string& what);

}  // namespace isinglass
