// Computes how flips of single inputs change sums of softplus units, Σ_h softplus(a_h), as in RBMs
// and logistic regressions.
#pragma once

#include "io/torch.h"

namespace isinglass {

inline constexpr int64_t kSoftplusTerms = 1 << 22;  // numbers in memory at a time

// Returns Σ_h [softplus(a_h + f_i W_hi) − softplus(a_h)], float64 [B, D], for a [B, H], each
// input's change f [B, D], and w [H, D].
torch::Tensor softplus_changes(const torch::Tensor& a, const torch::Tensor& change,
                               const torch::Tensor& w);

}  // namespace isinglass
