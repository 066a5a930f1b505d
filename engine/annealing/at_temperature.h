// A target at a fixed temperature T: π(x) ∝ exp(−U(x)/T). It is a tempered model without a start
// (tempered_model.h) that owns its target and keeps β = 1/T. Energies that are recorded are U.
#pragma once

#include <memory>

#include "engine/annealing/tempered_model.h"

namespace isinglass {

class AtTemperature : public TemperedModel {
 public:
  // Throws Error unless the temperature is finite and above 0. The target is on the device.
  AtTemperature(std::shared_ptr<EnergyModel> target, double temperature, torch::Device device);

  std::string title() const override;
  torch::Tensor base_mean() const override { return original_->base_mean(); }
  FlopCounts flops() const override { return original_->flops(); }
  void set_gradient_precision(GradientPrecision precision) override {
    original_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return original_->supports_bfloat16(); }

  EnergyModel& original() { return *original_; }
  double temperature() const { return temperature_; }

 private:
  std::shared_ptr<EnergyModel> original_;
  double temperature_;
};

// Returns the model itself, or the target of a model at a fixed temperature.
EnergyModel& at_temperature_one(EnergyModel& model);
// Returns the temperature of a model at a fixed temperature; 1 for other models.
double temperature_of(const EnergyModel& model);

}  // namespace isinglass
