// Implements the merging of ties.
#include "engine/diagnostics/ties.h"

#include <algorithm>
#include <cmath>

namespace isinglass {

TieWidth tie_width(const torch::Tensor& values, double rounding) {
  const torch::Tensor size = values.masked_select(torch::isfinite(values)).abs();
  if (size.numel() == 0) return {.least = 0};
  const double usual = size.median().item<double>(), largest = size.max().item<double>();
  return {.least = std::max(rounding * usual, std::min(rounding, kCarriedRounding) * largest),
          .relative = rounding};
}

torch::Tensor merge_ties(const torch::Tensor& values, TieWidth width) {
  const torch::Tensor x = values.to(torch::kCPU, torch::kFloat64);
  const auto [sorted, order] = x.flatten().sort();
  double* value = sorted.data_ptr<double>();
  double least = NAN;
  for (int64_t i = 0; i < sorted.numel(); ++i) {
    if (value[i] - least <= std::max(width.least, width.relative * std::abs(least))) {
      value[i] = least;
    } else {
      least = value[i];
    }
  }
  return torch::empty_like(sorted).index_put_({order}, sorted).view(x.sizes());
}

}  // namespace isinglass
