// Estimates log Z from draws on the rungs of a ladder: log Z = log Z_0 + Σ c. The sum is over pairs
// of neighbouring rungs; c is the root of the acceptance ratio
// (engine/annealing/acceptance_ratio.h), from equally many draws on both rungs, of
//
//   U_{β_{i+1}} − U_{β_i} at x ~ π_{β_i} and at x ~ π_{β_{i+1}}
//
// The standard error is the jackknife's over ensembles, or over groups of them if there are more
// than a hundred. Ensembles are independent, while the draws of one ensemble depend on each other,
// along its run and between its rungs. The draws of one rung of each pair alone (Zwanzig 1954)
// bound log Z on average:
//
//   log Z_0 + Σ log mean exp(−rise) over draws of lower rungs
//     ≤ log Z ≤ log Z_0 − Σ log mean exp(rise) over draws of upper rungs
//
// The bounds have standard errors by the same jackknife.
#pragma once

#include <cmath>
#include <cstdint>

#include "io/torch.h"

namespace isinglass {

// The least number of ensembles that gives a standard error.
inline constexpr int64_t kLeastEnsembles = 8;

struct LogZ {
  double value;
  double standard_error;                  // NaN with fewer than kLeastEnsembles
  double lower = NAN, upper = NAN;        // bounds on average
  double lower_se = NAN, upper_se = NAN;  // their standard errors, NaN where that of value is
};

// Returns log Z from those energy differences. delta_u: float64 [S, C, R − 1, 2], for S draws of C
// ensembles on R rungs, at the draw on the lower rung and at the one on the upper rung. A
// difference is +∞ at a lower rung's draw that the upper rung forbids, and −∞ at an upper rung's
// draw that the lower rung forbids. Returns NaN without draws, if a rung forbids all draws of one
// next to it, and if any other difference is not finite. The standard error is NaN if that is so of
// the draws without one group of ensembles.
LogZ log_z_of_rungs(const torch::Tensor& delta_u, double log_z_0);

}  // namespace isinglass
