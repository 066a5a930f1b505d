// Implements Adam on LibTorch's fused kernel.
#include "train/optimiser/adam.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "io/sha256.h"

namespace isinglass {
namespace {

std::string text_of(const torch::Tensor& tensor) {
  return fmt::format("{} of shape [{}] on {}", dtype_name(tensor.scalar_type()),
                     fmt::join(tensor.sizes(), ", "), tensor.device().str());
}

// Returns true if both tensors have the same layout, type, device, shape and strides. The stride of
// a dimension of one element does not count.
bool laid_out_alike(const torch::Tensor& one, const torch::Tensor& other) {
  bool alike = one.layout() == other.layout() && one.scalar_type() == other.scalar_type() &&
               one.device() == other.device() && one.sizes() == other.sizes();
  for (int64_t d = 0; alike && d < one.dim(); ++d) {
    alike = one.size(d) == 1 || one.stride(d) == other.stride(d);
  }
  return alike;
}

// Throws Error if a parameter no longer has the layout of its moments. The fused kernel walks
// memory and does not check this itself.
void require_same(const std::vector<torch::Tensor>& parameters,
                  const std::vector<torch::Tensor>& moments) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    require(laid_out_alike(parameters[i], moments[i]),
            "a parameter is {} with the strides [{}], but it was {} with the strides [{}] when "
            "training began, and its layout must not change",
            text_of(parameters[i]), fmt::join(parameters[i].strides(), ", "), text_of(moments[i]),
            fmt::join(moments[i].strides(), ", "));
  }
}

}  // namespace

Adam::Adam(std::vector<torch::Tensor> parameters, double weight_decay, double beta1)
    : parameters_(std::move(parameters)), weight_decay_(weight_decay), beta1_(beta1) {
  TORCH_INTERNAL_ASSERT(!parameters_.empty());
  // The fused kernel walks the storages of parameter, gradient and moments in parallel. zeros_like
  // keeps the memory format, and so do gradients that backward() accumulates.
  for (const torch::Tensor& p : parameters_) {
    require(p.layout() == torch::kStrided && p.is_non_overlapping_and_dense(),
            "elements of a parameter ({}) share memory or leave gaps in it, which training does "
            "not support; clone() gives a dense tensor",
            text_of(p));
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

// This is called before every step, including one that replays a captured step.
void Adam::set_learning_rate(double learning_rate) {
  require_same(parameters_, first_);
  learning_rate_.fill_(learning_rate);
  shrink_.fill_(1 - learning_rate * weight_decay_);
}

// The layout is looked at again, because a module may have replaced a parameter's data in its own
// forward pass.
void Adam::step(const torch::Tensor& skip) {
  torch::NoGradGuard no_grad;
  require_same(parameters_, first_);
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& p : parameters_) {
    const torch::Tensor& gradient = p.grad();
    TORCH_INTERNAL_ASSERT(gradient.defined() && gradient.layout() == torch::kStrided);
    require(gradient.sizes() == p.sizes() && gradient.device() == p.device(),
            "the gradient of a parameter is {}, but the parameter is {}; a module must not replace "
            "its parameters while it computes",
            text_of(gradient), text_of(p));
    gradients.push_back(laid_out_alike(gradient, p) ? gradient
                                                    : torch::empty_like(p).copy_(gradient));
  }
  const bool may_skip = skip.defined();
  if (weight_decay_ > 0 && !weights_.empty()) {
    at::_foreach_mul_(weights_, may_skip ? torch::where(skip > 0, 1.0, shrink_) : shrink_);
  }
  may_skip ? step_.add_(1 - skip) : step_.add_(1);
  at::_fused_adam_(parameters_, gradients, first_, second_, /*max_exp_avg_sqs=*/{}, steps_,
                   learning_rate_, beta1_, /*beta2=*/0.999, /*weight_decay=*/0,
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
