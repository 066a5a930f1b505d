// Says how far the computed energies of one state may lie apart (ties.h), by the model: a network
// computes in float32, also where its energies, or those of a model that contains it, are float64.
#pragma once

#include <algorithm>

#include "engine/diagnostics/ties.h"
#include "models/energy_model.h"
#include "models/full_precision.h"

namespace isinglass {

// Returns the rounding of a model's energies. One that has no parameters of fewer bits than float64
// is evaluated at states x [B, D], all of them, since a module in training mode may refuse a batch
// of one. The result is the same on all ranks, also on one without chains.
inline double energy_rounding(EnergyModel& model, const torch::Tensor& x) {
  const auto is_short = [](const torch::Tensor& tensor) {
    return tensor.is_floating_point() && tensor.scalar_type() != torch::kFloat64;
  };
  const std::vector<torch::Tensor> parameters = model.parameters(), buffers = model.buffers();
  if (std::any_of(parameters.begin(), parameters.end(), is_short) ||
      std::any_of(buffers.begin(), buffers.end(), is_short)) {
    return kFloatRounding;
  }
  const torch::NoGradGuard no_grad;
  const FullPrecision full;
  const bool any = x.size(0) > 0;
  return rounding_of(model.energy(any ? x : x.new_zeros({2, x.size(1)})).scalar_type());
}

}  // namespace isinglass
