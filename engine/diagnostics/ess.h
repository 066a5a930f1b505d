// Effective sample size as the papers compute it, which is the default of TensorFlow Probability
// (docs/concepts/diagnostics.md). Per chain it is N / (−1 + 2 Σ_{k≥0} (N−k)/N ρ_k) with ρ_0 = 1.
// The ρ_k come from autocovariances divided by N − k, and the sum ends before the first negative
// ρ_k.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns the ESS of every chain, float64 [B], for a statistic [N, B]. It is 0 for a stuck chain,
// which is one that is constant while the statistic is not the same everywhere. It is NaN for a
// chain that is not finite, for all chains if the statistic is constant over all of them, and for N
// < 4.
torch::Tensor tfp_ess(const torch::Tensor& series);

// Mean and standard deviation of a per-chain diagnostic over the chains where it is defined.
struct DiagnosticSummary {
  // NaN if no chain (std: fewer than two chains) has a defined value.
  double mean, std;
  int64_t undefined;  // number of chains whose value is NaN
  int64_t stuck;      // number of chains whose value is 0
};
DiagnosticSummary summarise(const torch::Tensor& per_chain);

}  // namespace isinglass
