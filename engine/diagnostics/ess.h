// Effective sample size, the legacy estimator of the papers (docs/concepts/diagnostics.md; the
// default of TensorFlow Probability): per chain N / (−1 + 2 Σ_{k≥0} (N−k)/N ρ_k), ρ_0 = 1, with ρ_k
// from autocovariances divided by N − k, cut at the first negative ρ_k.
#pragma once

#include "io/torch.h"

namespace isinglass {

// series: [N, B], a statistic of B chains. Returns float64 [B]: 0 of a chain that is stuck,
// constant while the statistic is not the same everywhere; NaN of a chain that is not finite, of
// all where the statistic is constant over all chains, and for N < 4.
torch::Tensor legacy_ess(const torch::Tensor& series);

// Mean and standard deviation of a per-chain diagnostic over the chains where it is defined.
struct DiagnosticSummary {
  double mean, std;   // NaN where no chain (std: fewer than two chains) is defined
  int64_t undefined;  // chains that are NaN
  int64_t stuck;      // chains that are 0
};
DiagnosticSummary summarise(const torch::Tensor& per_chain);

}  // namespace isinglass
