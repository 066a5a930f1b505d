// Burn-in time: the first step at which the mean energy over chains is within mean ± 2 standard
// deviations of its last quarter.
//
// The band is made by the run itself, so that a run that is too short always comes into it: chains
// that still drift enter the band of their own last quarter just before that quarter begins. The
// number is therefore undefined where the length of the run decides it, that is unless
//   - the band is entered in the first half of the run, and
//   - the third quarter's mean lies in the band of the fourth: a linear drift of δ per quarter has
//     2 sd = δ/√3 < δ.
// It is also undefined where the chains stand still: they have not burnt in.
#pragma once

#include "io/torch.h"

namespace isinglass {

// energy: [N, B] of B chains, from their start. Counts rows. NaN where it is undefined (see above),
// where N < 8, or where an energy is not finite.
double burn_in_time(const torch::Tensor& energy);

}  // namespace isinglass
