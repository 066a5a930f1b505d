// Diagnostics of several chains together: effective sample sizes of the bulk and the tails, and R̂
// (Vehtari, Gelman, Simpson, Carpenter & Bürkner, "Rank-normalization, folding, and localization:
// an improved R̂", Bayesian Analysis 2021).
//
// Every chain is cut in halves (an odd middle draw is left out), so that a drift within a chain
// shows as a difference between chains. Rank normalisation replaces values by
//   z = Φ⁻¹((rank − 3/8) / (S + 1/4)), ranks among all S values, ties by their mean rank.
//
// Of M half chains of n draws, with W the mean of their variances and V = (n − 1)/n·W + the
// variance of their means:
//   R̂ = √(V / W),   ρ_k = 1 − (W − mean autocovariance at lag k) / V,
//   ESS = M·n / τ,  τ = −1 + 2 Σ_k ρ_k over Geyer's initial positive, then monotone sequence,
// and ESS at most M·n·log₁₀(M·n).
#pragma once

#include "io/torch.h"

namespace isinglass {

// series: [N, B], a statistic of B chains. NaN where it is not finite or constant, or N < 4.
double bulk_ess(const torch::Tensor& series);  // of the rank-normalised values
// The smaller one of the indicators x ≤ 5 % quantile and x ≤ 95 % quantile.
double tail_ess(const torch::Tensor& series);
// The larger one of the rank-normalised values and of their distances from the median; NaN also for
// fewer than two chains.
double rank_rhat(const torch::Tensor& series);

}  // namespace isinglass
