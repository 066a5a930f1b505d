// Implements the merging of ties.
#include "engine/diagnostics/ties.h"

#include <cmath>

namespace isinglass {

double tie_width(const torch::Tensor& values, double rounding) {
  const torch::Tensor finite = values.masked_select(torch::isfinite(values));
  if (finite.numel() == 0) return 0;
  return rounding * finite.abs().max().item<double>();
}

torch::Tensor merge_ties(const torch::Tensor& values, double width) {
  const torch::Tensor x = values.to(torch::kCPU, torch::kFloat64);
  const auto [sorted, order] = x.flatten().sort();
  double* value = sorted.data_ptr<double>();
  double least = NAN;
  for (int64_t i = 0; i < sorted.numel(); ++i) {
    if (value[i] - least <= width) {
      value[i] = least;
    } else {
      least = value[i];
    }
  }
  return torch::empty_like(sorted).index_put_({order}, sorted).view(x.sizes());
}

}  // namespace isinglass
