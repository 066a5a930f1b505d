// Implements the exponential moving average.
#include "train/optimiser/ema.h"

namespace isinglass {

Ema::Ema(std::vector<torch::Tensor> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  for (const torch::Tensor& p : parameters_) {
    const auto type = p.element_size() < 4 ? torch::kFloat32 : p.scalar_type();
    averages_.push_back(p.detach().to(type, /*non_blocking=*/false, /*copy=*/true));
  }
  updates_ = torch::zeros({}, torch::device(parameters_[0].device()).dtype(torch::kFloat64));
}

// The two weights add up to 1 in float32. Otherwise the deficit would accumulate over the updates.
void Ema::update(const torch::Tensor& skip) {
  torch::NoGradGuard no_grad;
  const bool may_skip = skip.defined();
  may_skip ? updates_.add_(1 - skip) : updates_.add_(1);
  torch::Tensor kept = ((updates_ + 1) / (updates_ + 10)).clamp_max(decay_).to(torch::kFloat32);
  if (may_skip) kept = torch::where(skip > 0, 1.0, kept);
  std::vector<torch::Tensor> added;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    added.push_back(parameters_[i].detach().to(averages_[i].scalar_type()));
  }
  added = at::_foreach_mul(added, 1 - kept);
  at::_foreach_mul_(averages_, kept);
  at::_foreach_add_(averages_, added);
}

void Ema::apply() {
  torch::NoGradGuard no_grad;
  for (size_t i = replaced_.size(); i < parameters_.size(); ++i) {
    replaced_.push_back(torch::empty_like(parameters_[i]));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    replaced_[i].copy_(parameters_[i]);
    parameters_[i].copy_(averages_[i]);
  }
}

void Ema::restore() {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(replaced_[i]);
}

std::vector<torch::Tensor> Ema::rounded() const {
  std::vector<torch::Tensor> result;
  for (size_t i = 0; i < averages_.size(); ++i) {
    result.push_back(averages_[i].to(parameters_[i].scalar_type()));
  }
  return result;
}

}  // namespace isinglass
