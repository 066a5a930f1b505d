// Diagnostics of several chains together: effective sample sizes of the bulk and the tails, and R̂
// (Vehtari, Gelman, Simpson, Carpenter & Bürkner, "Rank-normalization, folding, and localization:
// an improved R̂", Bayesian Analysis 2021).
//
// Every chain is split into halves (an odd middle draw is left out), so that a drift within a chain
// appears as a difference between chains. Rank normalisation replaces values by
//   z = Φ⁻¹((rank − 3/8) / (S + 1/4)), with ranks among all S values; ties get their mean rank.
//
// For M half chains of n draws, let W be the mean of their variances, and V = (n − 1)/n·W + the
// variance of their means. Then
//   R̂ = √(V / W),   ρ_k = 1 − (W − mean autocovariance at lag k) / V,
//   ESS = M·n / τ,  τ = −1 + 2 Σ_k ρ_k over Geyer's initial positive, then monotone sequence,
// and the ESS is at most M·n·log₁₀(M·n). ArviZ returns this limit for every series of fewer than
// ten draws, because τ then depends on no draw; here the ESS is undefined.
//
// Values that differ by rounding alone count as ties (ties.h), in quantiles as well as in ranks.
#pragma once

#include "engine/diagnostics/ties.h"
#include "io/torch.h"

namespace isinglass {

// Above this R̂, chains still drift or disagree, and their means are not those of the target.
inline constexpr double kConvergedRhat = 1.1;

// Returns the ESS of the rank-normalised values. series: [N, B], a statistic of B chains; rounding:
// see ties.h. Returns NaN if a value is not finite, if all values are equal, or if N < 10; so do
// the functions below, for R̂ if N < 4.
double bulk_ess(const torch::Tensor& series, double rounding = kCarriedRounding);
// Returns the smaller ESS of the indicators x ≤ 5 % quantile and x ≤ 95 % quantile.
double tail_ess(const torch::Tensor& series, double rounding = kCarriedRounding);
// Returns the larger R̂ of the rank-normalised values and of their distances from the median. It is
// NaN also for fewer than two chains, and infinite if every half chain is constant at a value of
// its own.
double rank_rhat(const torch::Tensor& series, double rounding = kCarriedRounding);

// The same for chains of which each `group` of consecutive ones has a target of its own: the sum of
// the groups' ESS, by one of the two functions above, and the largest R̂ of a group. Groups in
// which it is undefined are left out; NaN if it is undefined in all of them.
double ess_of_groups(double (*ess)(const torch::Tensor&, double), const torch::Tensor& series,
                     int64_t group, double rounding = kCarriedRounding);
double rhat_of_groups(const torch::Tensor& series, int64_t group,
                      double rounding = kCarriedRounding);

// R̂ as a test of agreement, for energies of chains that approach equilibrium. In contrast to
// rank_rhat(), it returns 1 if all of at least four draws of at least two chains have the same
// value, which happens where all states of relevant probability have one energy.
double agreement_rhat(const torch::Tensor& series, double rounding = kCarriedRounding);

}  // namespace isinglass
