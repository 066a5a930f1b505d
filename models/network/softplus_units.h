// Sums of softplus units of binary inputs, as in RBMs and logistic regressions: how each input's
// flip changes Σ_h softplus(a_h).
#pragma once

#include "io/torch.h"

namespace isinglass {

inline constexpr int64_t kSoftplusTerms = 1 << 22;  // held at once, of all inputs of some chains

// Σ_h [softplus(a_h + f_i W_hi) − softplus(a_h)], float64 [B, D]: a [B, H], f [B, D] the change of
// each input, w [H, D].
torch::Tensor softplus_changes(const torch::Tensor& a, const torch::Tensor& change,
                               const torch::Tensor& w);

}  // namespace isinglass
