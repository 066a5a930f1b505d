// log Z from draws on the rungs of a ladder: log Z = log Z_0 + Σ c, c of neighbouring rungs by the
// acceptance ratio (engine/annealing/acceptance_ratio.h) of as many draws of V = U − U_0 on one as on
// the other. Its standard error is the jackknife's over ensembles, which do not depend on each other,
// while the draws of one do: along its run and between its rungs.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

// From fewer ensembles there is no standard error.
inline constexpr int64_t kLeastEnsembles = 8;

struct LogZ {
  double value;
  double standard_error;  // NaN: fewer than kLeastEnsembles
};

// v: V, float64 [S, C, R], of S draws of C ensembles on R rungs. NaN without draws.
LogZ log_z_of_rungs(const torch::Tensor& v, const std::vector<double>& betas, double log_z_0);

}  // namespace isinglass
