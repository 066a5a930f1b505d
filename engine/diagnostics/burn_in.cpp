// Implements the burn-in time.
#include "engine/diagnostics/burn_in.h"

#include <cmath>

namespace isinglass {

double burn_in_time(const torch::Tensor& energy) {
  constexpr int64_t kLeastSteps = 8;
  const int64_t n = energy.size(0);
  if (n < kLeastSteps || !torch::isfinite(energy).all().item<bool>()) return NAN;
  const torch::Tensor mean = energy.to(torch::kFloat64).mean(1);
  const torch::Tensor third = mean.slice(0, n - 2 * (n / 4), n - n / 4);
  const torch::Tensor last = mean.slice(0, n - n / 4, n);
  if ((last == last[0]).all().item<bool>()) return NAN;  // stuck, and its deviation is 0
  const torch::Tensor centre = last.mean(), width = 2 * last.std();
  if (((third.mean() - centre).abs() > width).item<bool>()) return NAN;  // still drifting
  const torch::Tensor inside = ((mean - centre).abs() <= width).nonzero();
  if (inside.size(0) == 0) return NAN;
  const auto entered = inside[0][0].item<int64_t>();
  return entered <= n / 2 ? static_cast<double>(entered) : NAN;
}

}  // namespace isinglass
