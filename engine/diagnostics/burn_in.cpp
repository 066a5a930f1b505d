// See burn_in.h.
#include "engine/diagnostics/burn_in.h"

#include <cmath>

namespace isinglass {

double burn_in_time(const torch::Tensor& energy) {
  constexpr int64_t kLeastSteps = 8;
  const int64_t n = energy.size(0);
  if (n < kLeastSteps || !torch::isfinite(energy).all().item<bool>()) return NAN;
  if ((energy == energy[0]).all().item<bool>()) return NAN;
  const torch::Tensor mean = energy.to(torch::kFloat64).mean(1), last = mean.slice(0, n - n / 4, n);
  const torch::Tensor inside = (mean - last.mean()).abs() <= 2 * last.std();
  return static_cast<double>(inside.to(torch::kInt64).argmax(0).item<int64_t>());
}

}  // namespace isinglass
