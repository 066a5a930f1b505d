// Computes autocovariances and autocorrelations of the chains' statistics by FFT, in float64.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns Σ_t (x_t − x̄)(x_{t+k} − x̄) of every chain at lags k = 0 … N − 1, float64 [N, B], for a
// statistic [N, B].
torch::Tensor lagged_products(const torch::Tensor& series);

// Returns the autocovariances of every chain, float64 [N, B]: the sum at lag k divided by N − k.
torch::Tensor autocovariance(const torch::Tensor& series);

// Returns ρ_k of every chain, float64 [N, B]: the sum at lag k divided by that at lag 0. Its noise
// does not grow with the lag. It is NaN for a chain that is constant or not finite.
torch::Tensor autocorrelation(const torch::Tensor& series);

// Returns bool [B]: true for a chain that is constant, or somewhere not finite, and therefore has
// no defined correlation.
torch::Tensor undefined_chains(const torch::Tensor& series);

}  // namespace isinglass
