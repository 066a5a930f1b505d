// The common part of models that change another model's states or energies: they answer questions
// about the network and its device as that model does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "models/bounds.h"
#include "models/energy_model.h"

namespace isinglass {

class WrappedModel : public EnergyModel, public HasBounds {
 public:
  std::string kind_name() const override { return inner_->kind_name(); }
  StateSpace space() const override { return inner_->space(); }
  std::optional<Bounds> bounds() const override { return bounds_of(*inner_); }
  bool differentiable() const override { return inner_->differentiable(); }
  torch::Tensor base_mean() const override { return inner_->base_mean(); }
  FlopCounts flops() const override { return inner_->flops(); }
  bool capturable() const override { return inner_->capturable(); }
  bool reads_parameters_in_place() const override { return inner_->reads_parameters_in_place(); }
  void set_gradient_precision(GradientPrecision precision) override {
    inner_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return inner_->supports_bfloat16(); }

 protected:
  explicit WrappedModel(std::shared_ptr<EnergyModel> inner)
      : inner_(register_module("inner", std::move(inner))) {}

  EnergyModel& inner() const { return *inner_; }
  const std::shared_ptr<EnergyModel>& inner_pointer() const { return inner_; }

 private:
  std::shared_ptr<EnergyModel> inner_;
};

}  // namespace isinglass
