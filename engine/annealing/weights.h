// Estimates of log Z from the log-weights of annealed chains (docs/concepts/annealing.md). Weights
// are relative to Z_0, the normaliser of the distribution where annealing starts:
//
//   forward   log Z/Z_0 ≈  log mean exp(w_F), on average too low (Jensen's inequality)
//   reverse   log Z/Z_0 ≈ −log mean exp(w_R), too high if the chains began as exact draws
//   both      the root c of acceptance_ratio.h
#pragma once

#include <cstdint>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Returns log mean exp(log w), its bootstrap standard error (1000 resamples), and the effective
// sample size (Σw)² / Σw². A single weight has the standard error NaN; if log mean exp is not
// finite, both are NaN.
struct WeightSummary {
  double log_mean, standard_error, ess;
};
WeightSummary summarise_weights(const torch::Tensor& log_weights, uint64_t seed);

// Returns the root c, and its standard error by the infinitesimal jackknife, for independent
// weights on each side. Both are NaN if a side has no finite weight, or has one that is +∞ or NaN.
// The error is also NaN if a side has a single weight.
struct LogRatio {
  double value, standard_error;
};
LogRatio acceptance_ratio(const torch::Tensor& forward, const torch::Tensor& reverse);

// Weights with a smaller effective sample size say nothing about log Z.
inline constexpr double kLeastWeightEss = 10;

// Returns the text that follows "warning: " wherever an estimate is shown; empty if the weights
// suffice.
std::string weights_warning(double weight_ess, int64_t chains);

}  // namespace isinglass
