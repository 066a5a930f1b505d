// Burn-in time: the first step at which the mean energy over chains is within mean ± 2 standard
// deviations of its last quarter.
#pragma once

#include "io/torch.h"

namespace isinglass {

// energy: [N, B] of B chains, from their start. Counts rows; NaN where N < 8, an energy is not
// finite, or none ever changes: chains that stand still have not burnt in.
double burn_in_time(const torch::Tensor& energy);

}  // namespace isinglass
