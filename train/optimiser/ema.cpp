// See ema.h.
#include "train/optimiser/ema.h"

namespace isinglass {

Ema::Ema(std::vector<torch::Tensor> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  for (const torch::Tensor& p : parameters_) averages_.push_back(p.detach().clone());
}

void Ema::update() {
  torch::NoGradGuard no_grad;
  at::_foreach_lerp_(averages_, parameters_, 1 - decay_);
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
