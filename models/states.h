// Validates and converts batches of states that users provide.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Throws Error, which names `title`, unless the sizes of the space are within the limits of the
// state types and kernels: 1 to 2^31 − 1 sites, 2 to 256 values, and at most 65536 entries of a
// permutation, so that its pairs can be numbered.
void check_space(const StateSpace& space, const std::string& title);

// Returns "3 binary sites", "12 categorical sites of 4 values".
std::string sites_text(const StateSpace& space);
const char* kind_name(StateKind kind);  // Returns "binary", "categorical", …

// Returns the batch of states x in the space's dtype. Discrete values may have any integer type or
// bool, and continuous ones any floating-point type. Throws Error under the same conditions as
// check_states().
torch::Tensor as_states(const StateSpace& space, const torch::Tensor& x, const std::string& what);

}  // namespace isinglass
