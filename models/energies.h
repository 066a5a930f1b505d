// Energies and gradients of many given states: model calls in blocks of bounded size.
#pragma once

#include <functional>

#include "models/energy_model.h"

namespace isinglass {

// x: states [N, D] on any device. Returns float64 [N] and float32 [N, D] or [N, D, K] on the CPU.
// `stop` is asked between blocks; true ends early, with the rows done so far.
EnergyGrad energies_and_gradients(EnergyModel& model, const torch::Tensor& x, torch::Device device,
                                  const std::function<bool()>& stop = {});

// Energies alone, float64 [N] on the CPU.
torch::Tensor energies(EnergyModel& model, const torch::Tensor& x, torch::Device device);

}  // namespace isinglass
