// Says how far the computed energies of one state may lie apart (ties.h), by the model: a network
// computes in float32, also where its energies, or those of a model that contains it, are float64.
#pragma once

#include <algorithm>

#include "engine/diagnostics/ties.h"
#include "models/energy_model.h"
#include "models/full_precision.h"

namespace isinglass {

// Returns the rounding of a model's energies, which it returns as numbers of this type. Lattices
// compute in float64 whatever the type of their parameters is.
inline double energy_rounding(const EnergyModel& model, torch::ScalarType type) {
  if (model.as_lattice()) return rounding_of(type);
  const auto is_short = [](const torch::Tensor& tensor) {
    return tensor.is_floating_point() && tensor.scalar_type() != torch::kFloat64;
  };
  const std::vector<torch::Tensor> parameters = model.parameters(), buffers = model.buffers();
  const bool any = std::any_of(parameters.begin(), parameters.end(), is_short) ||
                   std::any_of(buffers.begin(), buffers.end(), is_short);
  return any ? kFloatRounding : rounding_of(type);
}

// Likewise for a type that is not known yet: evaluates the model at states x [B, D], all of them,
// since a module in training mode may refuse a batch of one. The result is the same on all ranks,
// also on one without chains.
inline double energy_rounding(EnergyModel& model, const torch::Tensor& x) {
  const torch::NoGradGuard no_grad;
  const FullPrecision full;
  const bool any = x.size(0) > 0;
  return energy_rounding(model, model.energy(any ? x : x.new_zeros({2, x.size(1)})).scalar_type());
}

}  // namespace isinglass
