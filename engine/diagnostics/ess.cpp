// Implements the effective sample size of the papers.
#include "engine/diagnostics/ess.h"

#include <cmath>

#include "engine/diagnostics/autocorrelation.h"

namespace isinglass {

torch::Tensor tfp_ess(const torch::Tensor& series) {
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
  const torch::Tensor finite = torch::isfinite(x).all(0), still = (x == x[0]).all(0);
  const bool constant = (x == x[0][0]).all().item<bool>();
  return ess.masked_fill(still, constant ? NAN : 0).masked_fill(finite.logical_not(), NAN);
}

DiagnosticSummary summarise(const torch::Tensor& per_chain) {
  const torch::Tensor defined =
      per_chain.masked_select(torch::isfinite(per_chain)).to(torch::kFloat64);
  const int64_t count = defined.numel();
  return {count > 0 ? defined.mean().item<double>() : NAN,
          count > 1 ? defined.std().item<double>() : NAN, per_chain.numel() - count,
          defined.eq(0).sum().item<int64_t>()};
}

}  // namespace isinglass
