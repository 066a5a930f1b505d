// log Z from draws on the rungs of a ladder, by the acceptance ratio between neighbours (Bennett,
// J. Comput. Phys. 22, 1976): with as many draws of V = U − U_0 at β_i as at β_{i+1}, Δ = β_{i+1} −
// β_i, the estimate of log Z_{i+1}/Z_i is the root c of
//
//   Σ_{x∼π_i} 1/(1 + exp(ΔV(x) + c)) = Σ_{x∼π_{i+1}} 1/(1 + exp(−ΔV(x) − c))
//
// and log Z = log Z_0 + Σ c. Its standard error is the jackknife's over ensembles, which do not
// depend on each other, while the draws of one do: along its run and between its rungs.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

// c; float64 tensors of one size, ΔV at the lower and at the upper rung.
double bennett_log_ratio(const torch::Tensor& lower, const torch::Tensor& upper);

// From fewer ensembles there is no standard error.
inline constexpr int64_t kLeastEnsembles = 8;

struct LogZ {
  double value;
  double standard_error;  // NaN: fewer than kLeastEnsembles
};

// v: V, float64 [S, C, R], of S draws of C ensembles on R rungs. NaN without draws.
LogZ log_z_of_rungs(const torch::Tensor& v, const std::vector<double>& betas, double log_z_0);

}  // namespace isinglass
