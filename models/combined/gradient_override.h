// Combines the energy of one model with the gradient of another (`gradient-model`): samplers
// propose by the gradient of the second model and accept by the energy of the first, so that π(x) ∝
// exp(−U_energy(x)). The gradient is in general not the gradient of any energy; a
// Metropolis–Hastings sampler is still exact for `energy`.
#pragma once

#include <memory>

#include "models/bounds.h"
#include "models/energy_model.h"

namespace isinglass {

class GradientOverrideModel : public EnergyModel, public HasBounds {
 public:
  // Throws Error unless `gradient` is differentiable and has the state space of `energy`.
  GradientOverrideModel(std::shared_ptr<EnergyModel> energy, std::shared_ptr<EnergyModel> gradient);

  std::string kind_name() const override { return energy_->kind_name(); }
  StateSpace space() const override { return energy_->space(); }
  std::optional<Bounds> bounds() const override { return bounds_of(*energy_); }
  torch::Tensor base_mean() const override { return energy_->base_mean(); }
  bool capturable() const override { return energy_->capturable() && gradient_->capturable(); }
  void set_gradient_precision(GradientPrecision precision) override {
    gradient_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return gradient_->supports_bfloat16(); }
  torch::Tensor energy(const torch::Tensor& x) override { return energy_->energy(x); }
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  std::shared_ptr<EnergyModel> energy_, gradient_;
};

}  // namespace isinglass
