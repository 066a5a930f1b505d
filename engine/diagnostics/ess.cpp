// See ess.h.
#include "engine/diagnostics/ess.h"

#include <cmath>

namespace isinglass {

torch::Tensor autocovariance(const torch::Tensor& series) {
  const torch::Tensor x = series.to(torch::kFloat64);
  const int64_t n = x.size(0);
  const torch::Tensor centred = x - x.mean(0, true);
  // Zero padding to 2N makes the circular correlation of the FFT a linear one.
  const torch::Tensor spectrum = torch::fft_rfft(centred, 2 * n, 0);
  const torch::Tensor sums = torch::fft_irfft(spectrum * spectrum.conj(), 2 * n, 0).slice(0, 0, n);
  const torch::Tensor pairs = torch::arange(n, 0, -1, x.options()).unsqueeze(1);
  return sums / pairs;
}

torch::Tensor legacy_ess(const torch::Tensor& series) {
  const torch::Tensor x = series.to(torch::kFloat64);
  const int64_t n = x.size(0);
  if (n < 4) return torch::full({x.size(1)}, NAN, x.options());
  const torch::Tensor covariance = autocovariance(x);
  const torch::Tensor rho = covariance / covariance[0];
  const torch::Tensor before_cut = (rho < 0).to(torch::kFloat64).cumsum(0) == 0;
  const torch::Tensor taper =
      torch::arange(n, 0, -1, x.options()).unsqueeze(1) / static_cast<double>(n);
  const torch::Tensor sum = (taper * torch::where(before_cut, rho, torch::zeros_like(rho))).sum(0);
  const torch::Tensor ess = static_cast<double>(n) / (2 * sum - 1);
  const torch::Tensor constant = std::get<0>(x.max(0)) == std::get<0>(x.min(0));
  const torch::Tensor undefined = constant.logical_or(torch::isfinite(x).all(0).logical_not());
  return torch::where(undefined, torch::full_like(ess, NAN), ess);
}

DiagnosticSummary summarise(const torch::Tensor& per_chain) {
  const torch::Tensor defined =
      per_chain.masked_select(torch::isfinite(per_chain)).to(torch::kFloat64);
  const int64_t count = defined.numel();
  return {count > 0 ? defined.mean().item<double>() : NAN,
          count > 1 ? defined.std().item<double>() : NAN, per_chain.numel() - count};
}

}  // namespace isinglass
