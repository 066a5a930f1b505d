// Burn-in time: the first step at which the mean energy over chains is within mean ± 2 standard
// deviations of its last quarter.
//
// The run itself determines this band, so that even a run that is too short enters it: chains that
// still drift enter the band of their own last quarter just before that quarter begins. The burn-in
// time is therefore undefined where the length of the run determines it. It is defined only if
//   - the band is entered in the first half of the run, and
//   - the third quarter's mean lies in the band of the fourth: a linear drift of δ per quarter has
//     2 sd = δ/√3 < δ.
// It is also undefined if the chains stand still, because such chains have not burnt in.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns the burn-in time in rows of energy [N, B], the energies of B chains from their start.
// Returns NaN where it is undefined (see above), where N < 8, or where an energy is not finite.
double burn_in_time(const torch::Tensor& energy);

}  // namespace isinglass
