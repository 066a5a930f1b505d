// What log-weights of annealed chains say about log Z (docs/concepts/annealing.md). They are
// relative to Z_0, that of the distribution where annealing starts:
//
//   forward   log Z/Z_0 ≈  log mean exp(w_F), on average too low (Jensen's inequality)
//   reverse   log Z/Z_0 ≈ −log mean exp(w_R), too high if the chains began as exact draws
//   both      the root c of acceptance_ratio.h
#pragma once

#include <cstdint>
#include <string>

#include "io/torch.h"

namespace isinglass {

// log mean exp(log w) with its bootstrap standard error (1000 resamples) and (Σw)² / Σw². One
// weight has no standard error, and weights that are not finite have neither: NaN.
struct WeightSummary {
  double log_mean, standard_error, ess;
};
WeightSummary summarise_weights(const torch::Tensor& log_weights, uint64_t seed);

// The root c and its standard error by the infinitesimal jackknife: the weights of a side are
// independent. NaN where a side has no finite weight, or one that is infinite or undefined; the error
// also where a side has one weight alone.
struct LogRatio {
  double value, standard_error;
};
LogRatio acceptance_ratio(const torch::Tensor& forward, const torch::Tensor& reverse);

// Weights of a smaller effective sample size say nothing about log Z.
inline constexpr double kLeastWeightEss = 10;

// What goes wherever an estimate goes, after "warning: "; empty where the weights suffice.
std::string weights_warning(double weight_ess, int64_t chains);

}  // namespace isinglass
