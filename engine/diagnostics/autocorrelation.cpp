// Implements autocovariances and autocorrelations.
#include "engine/diagnostics/autocorrelation.h"

#include <cmath>

namespace isinglass {

torch::Tensor lagged_products(const torch::Tensor& series) {
  const torch::Tensor x = series.to(torch::kFloat64);
  const int64_t n = x.size(0);
  // Zero padding to 2N makes the circular correlation of the FFT a linear one.
  const torch::Tensor spectrum = torch::fft_rfft(x - x.mean(0, true), 2 * n, 0);
  return torch::fft_irfft(spectrum * spectrum.conj(), 2 * n, 0).slice(0, 0, n);
}

torch::Tensor autocovariance(const torch::Tensor& series) {
  const torch::Tensor products = lagged_products(series);
  return products / torch::arange(products.size(0), 0, -1, products.options()).unsqueeze(1);
}

torch::Tensor autocorrelation(const torch::Tensor& series) {
  const torch::Tensor products = lagged_products(series);
  return torch::where(undefined_chains(series), torch::full({}, NAN, products.options()),
                      products / products[0]);
}

torch::Tensor undefined_chains(const torch::Tensor& series) {
  return (series == series[0]).all(0).logical_or(torch::isfinite(series).all(0).logical_not());
}

}  // namespace isinglass
