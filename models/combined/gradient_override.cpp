// Implements the model with another model's gradient.
#include "models/combined/gradient_override.h"

#include "io/error.h"

namespace isinglass {

GradientOverrideModel::GradientOverrideModel(std::shared_ptr<EnergyModel> energy,
                                             std::shared_ptr<EnergyModel> gradient)
    : energy_(register_module("energy", std::move(energy))),
      gradient_(register_module("gradient", std::move(gradient))) {
  const StateSpace own = energy_->space(), other = gradient_->space();
  require_options(gradient_->differentiable(), "`gradient-model` {} has no gradient",
                  gradient_->kind_name());
  require_options(own.sites == other.sites,
                  "`gradient-model` {} has {} sites, but `model` {} has {}", gradient_->kind_name(),
                  other.sites, energy_->kind_name(), own.sites);
  require_options(own.kind == other.kind && own.categories == other.categories,
                  "`gradient-model` {} does not have states of the same kind as `model` {}",
                  gradient_->kind_name(), energy_->kind_name());
}

void GradientOverrideModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation own;
  own.energy = out.energy;
  energy_->evaluate_energy(x, own);
  out.energy = own.energy;
}

void GradientOverrideModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation other;
  other.gradient = out.gradient;
  gradient_->evaluate(x, other);
  out.gradient = other.gradient;
  evaluate_energy(x, out);
}

}  // namespace isinglass
