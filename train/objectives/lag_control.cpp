// Implements the learning rate that chains can follow.
#include "train/objectives/lag_control.h"

#include <algorithm>

namespace isinglass {
namespace {

constexpr double kGood = 0.9, kLow = 0.7, kTooLow = 0.5;  // shares
constexpr double kGrowth = 1.01, kShrinkage = 0.95;
constexpr double kLeastFactor = 1e-3;

}  // namespace

LagControl::LagControl(int64_t slots, torch::Device device)
    : energy_(torch::empty({slots}, torch::TensorOptions(torch::kFloat64).device(device))),
      share_(torch::ones({}, energy_.options())),
      pause_(torch::zeros({}, energy_.options().dtype(torch::kFloat32))),
      factor_(torch::ones({}, torch::kFloat64)) {
  forget();
}

void LagControl::measure(const torch::Tensor& slots, const torch::Tensor& energy) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor log_w = energy_.index_select(0, slots) - energy;  // −w
  const torch::Tensor counts = torch::isfinite(log_w);
  const torch::Tensor number = counts.sum();
  const torch::Tensor of_none = torch::full_like(log_w, -std::numeric_limits<double>::infinity());
  const torch::Tensor counted = torch::where(counts, log_w, of_none);
  const torch::Tensor ess =
      torch::exp(2 * torch::logsumexp(counted, 0) - torch::logsumexp(2 * counted, 0));
  share_.copy_(torch::where(number > 1, ess / number, torch::ones_like(ess)));
  pause_.copy_(share_ < kTooLow);
}

void LagControl::keep(const torch::Tensor& slots, const torch::Tensor& energy) {
  energy_.index_copy_(0, slots, energy);
}

void LagControl::follow(double share) {
  const double change = share > kGood ? kGrowth : share < kLow ? kShrinkage : 1;
  factor_.fill_(std::clamp(change * factor(), kLeastFactor, 1.0));
}

NamedTensors LagControl::saved_state() const {
  return {{"lag-energies", energy_}, {"lag-factor", factor_}};
}

}  // namespace isinglass
