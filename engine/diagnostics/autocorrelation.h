// Autocovariances and autocorrelations of chains' statistics by FFT, in float64.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Σ_t (x_t − x̄)(x_{t+k} − x̄) of every chain at lags k = 0 … N − 1, float64 [N, B], from a
// statistic [N, B].
torch::Tensor lagged_products(const torch::Tensor& series);

// Autocovariances of every chain, float64 [N, B]: lag k divided by N − k.
torch::Tensor autocovariance(const torch::Tensor& series);

// ρ_k of every chain, float64 [N, B]: the products at lag k over those at lag 0, whose noise does
// not grow with the lag. NaN for a chain that is constant or not finite.
torch::Tensor autocorrelation(const torch::Tensor& series);

// Per chain, bool [B]: constant, or not finite somewhere. No correlation is defined there.
torch::Tensor undefined_chains(const torch::Tensor& series);

}  // namespace isinglass
