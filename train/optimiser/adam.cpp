// See adam.h.
#include "train/optimiser/adam.h"

namespace isinglass {

Adam::Adam(std::vector<torch::Tensor> parameters, double weight_decay)
    : parameters_(std::move(parameters)), weight_decay_(weight_decay) {
  TORCH_INTERNAL_ASSERT(!parameters_.empty());
  // The kernel walks the storages of parameter, gradient and moments in step: zeros_like keeps the
  // memory format, and so do gradients that backward() accumulates.
  for (const torch::Tensor& p : parameters_) {
    if (p.dim() >= 2) weights_.push_back(p);
    first_.push_back(torch::zeros_like(p.detach()));
    second_.push_back(torch::zeros_like(p.detach()));
  }
  const auto real = torch::TensorOptions(torch::kFloat32).device(parameters_[0].device());
  step_ = torch::zeros({}, real);
  learning_rate_ = torch::zeros({}, real);
  shrink_ = torch::ones({}, real);
  steps_.assign(parameters_.size(), step_);
}

void Adam::set_learning_rate(double learning_rate) {
  learning_rate_.fill_(learning_rate);
  shrink_.fill_(1 - learning_rate * weight_decay_);
}

void Adam::step(const torch::Tensor& skip) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& p : parameters_) {
    TORCH_INTERNAL_ASSERT(p.grad().defined() && p.grad().is_non_overlapping_and_dense());
    gradients.push_back(p.grad());
  }
  const bool may_skip = skip.defined();
  if (weight_decay_ > 0 && !weights_.empty()) {
    at::_foreach_mul_(weights_, may_skip ? torch::where(skip > 0, 1.0, shrink_) : shrink_);
  }
  may_skip ? step_.add_(1 - skip) : step_.add_(1);
  at::_fused_adam_(parameters_, gradients, first_, second_, /*max_exp_avg_sqs=*/{}, steps_,
                   learning_rate_, /*beta1=*/0.9, /*beta2=*/0.999, /*weight_decay=*/0,
                   /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{},
                   may_skip ? std::optional(skip) : std::nullopt);
}

void Adam::count_writes() {
  for (const torch::Tensor& p : parameters_) p.unsafeGetTensorImpl()->bump_version();
}

void Adam::forget() {
  for (const auto* moments : {&first_, &second_}) {
    for (const torch::Tensor& moment : *moments) moment.zero_();
  }
  step_.zero_();
}

}  // namespace isinglass
