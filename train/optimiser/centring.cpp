// Implements the centred steps of a restricted Boltzmann machine.
#include "train/optimiser/centring.h"

#include "io/error.h"

namespace isinglass {
namespace {

constexpr double kSlide = 0.01;  // rate of the moving averages, as in the paper

}  // namespace

Centring::Centring(const RbmModel& machine, const torch::Tensor& data_mean)
    : machine_(machine),
      w_(machine.named_parameters()["W"]),
      b_v_(machine.named_parameters()["b_v"]),
      b_h_(machine.named_parameters()["b_h"]),
      visible_(data_mean.to(b_v_.device(), torch::kFloat32).clone()),
      hidden_(torch::full_like(b_h_.detach(), 0.5)),
      visible_before_(visible_.clone()),
      hidden_before_(hidden_.clone()),
      before_(torch::empty_like(w_.detach())) {
  require(w_.dim() == 2 && visible_.sizes() == b_v_.sizes(),
          "centring requires an rbm of binary units, whose W has 2 dimensions, but W has {}",
          w_.dim());
}

void Centring::follow(const torch::Tensor& data) {
  torch::NoGradGuard no_grad;
  visible_before_.copy_(visible_);
  hidden_before_.copy_(hidden_);
  visible_.lerp_(data.mean(0, false, torch::kFloat32), kSlide);
  hidden_.lerp_(machine_.hidden_means(data).mean(0), kSlide);
}

void Centring::before_step() {
  torch::NoGradGuard no_grad;
  w_.mutable_grad().addr_(hidden_, b_v_.grad(), 1, -1).addr_(b_h_.grad(), visible_, 1, -1);
  before_.copy_(w_);
}

void Centring::after_step(const torch::Tensor& skip) {
  torch::NoGradGuard no_grad;
  if (skip.defined()) {
    visible_.copy_(torch::where(skip > 0, visible_before_, visible_));
    hidden_.copy_(torch::where(skip > 0, hidden_before_, hidden_));
  }
  const torch::Tensor moved = w_ - before_;
  b_v_.addmv_(moved.t(), hidden_, 1, -1);
  b_h_.addmv_(moved, visible_, 1, -1);
}

}  // namespace isinglass
