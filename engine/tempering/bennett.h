// log Z from draws on the rungs of a ladder: log Z = log Z_0 + Σ c, c of neighbouring rungs by the
// acceptance ratio (engine/annealing/acceptance_ratio.h) of as many draws on one as on the other:
//
//   U_{β_{i+1}} − U_{β_i} at x ~ π_{β_i} and at x ~ π_{β_{i+1}}
//
// Its standard error is the jackknife's over ensembles (over groups of them where there are more than
// a hundred), which do not depend on each other, while the draws of one do: along its run and between
// its rungs. What the draws of one end alone say (Zwanzig
// 1954) bounds log Z on average:
//
//   log Z_0 + Σ log mean exp(−rise) of lower rungs ≤ log Z ≤ log Z_0 − Σ log mean exp(rise) of upper
#pragma once

#include <cmath>
#include <cstdint>

#include "io/torch.h"

namespace isinglass {

// From fewer ensembles there is no standard error.
inline constexpr int64_t kLeastEnsembles = 8;

struct LogZ {
  double value;
  double standard_error;            // NaN: fewer than kLeastEnsembles
  double lower = NAN, upper = NAN;  // bounds on average
};

// rises: those differences, float64 [S, C, R − 1, 2], of S draws of C ensembles on R rungs, at the
// lower rung's draw and at the upper one's: +∞ of a lower rung's draw that the upper one forbids,
// −∞ of an upper rung's that the lower one forbids. NaN without draws, and of any other number that
// is not finite.
LogZ log_z_of_rungs(const torch::Tensor& rises, double log_z_0);

}  // namespace isinglass
