// Implements targets at a fixed temperature.
#include "engine/annealing/at_temperature.h"

#include <cmath>

#include "io/error.h"

namespace isinglass {
namespace {

TemperedModel::Form form_of(EnergyModel& target) {
  return target.as_lattice() ? TemperedModel::Form::kLattice : TemperedModel::Form::kParts;
}

}  // namespace

// The temperature is a buffer, so that it is part of the model's identity (models/identity.h).
AtTemperature::AtTemperature(std::shared_ptr<EnergyModel> target, double temperature,
                             torch::Device device)
    : TemperedModel(*target, /*start=*/nullptr, device, form_of(*target)),
      original_(register_module("target", std::move(target))),
      temperature_(temperature) {
  require_option(temperature > 0 && std::isfinite(temperature), "temperature", temperature,
                 "it must be a finite number above 0");
  register_buffer("temperature", torch::full({}, temperature, torch::kFloat64));
  set_beta(1 / temperature);
}

std::string AtTemperature::title() const {
  return fmt::format("{} at temperature {}", original_->title(), temperature_);
}

EnergyModel& at_temperature_one(EnergyModel& model) {
  auto* tempered = dynamic_cast<AtTemperature*>(&model);
  return tempered ? tempered->original() : model;
}

double temperature_of(const EnergyModel& model) {
  const auto* tempered = dynamic_cast<const AtTemperature*>(&model);
  return tempered ? tempered->temperature() : 1;
}

}  // namespace isinglass
