// See context.h.
#include "engine/context.h"

namespace isinglass {

torch::Tensor Ranks::mean(const torch::Tensor& rows) const {
  const torch::Tensor real = rows.is_floating_point() ? rows : rows.to(torch::kFloat64);
  return mean_of(real.mean(0), rows.size(0));
}

torch::Tensor Ranks::mean_of(const torch::Tensor& own_mean, int64_t rows) const {
  if (size() == 1) return own_mean;
  const torch::Tensor count = torch::full({}, static_cast<double>(rows), own_mean.options());
  return sum(own_mean * count) / sum(count);
}

const Ranks& Ranks::alone() {
  static const Ranks ranks;
  return ranks;
}

}  // namespace isinglass
