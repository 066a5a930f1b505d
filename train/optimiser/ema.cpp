// Implements the exponential moving average.
#include "train/optimiser/ema.h"

namespace isinglass {

Ema::Ema(std::vector<torch::Tensor> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  for (const torch::Tensor& p : parameters_) averages_.push_back(p.detach().clone());
  updates_ = torch::zeros({}, torch::device(parameters_[0].device()).dtype(torch::kFloat64));
}

// The two weights add up to 1 in float32. Otherwise the deficit would accumulate over the updates.
void Ema::update(const torch::Tensor& skip) {
  torch::NoGradGuard no_grad;
  const bool may_skip = skip.defined();
  may_skip ? updates_.add_(1 - skip) : updates_.add_(1);
  torch::Tensor kept = ((updates_ + 1) / (updates_ + 10)).clamp_max(decay_).to(torch::kFloat32);
  if (may_skip) kept = torch::where(skip > 0, 1.0, kept);
  const std::vector<torch::Tensor> added = at::_foreach_mul(parameters_, 1 - kept);
  at::_foreach_mul_(averages_, kept);
  at::_foreach_add_(averages_, added);
}

void Ema::swap() {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const torch::Tensor raw = parameters_[i].clone();
    parameters_[i].copy_(averages_[i]);
    averages_[i].copy_(raw);
  }
}

}  // namespace isinglass
