// Evaluates the energies and gradients of a large batch of states, in model calls of at most 200
// states, so that memory stays bounded.
#pragma once

#include <functional>

#include "models/energy_model.h"

namespace isinglass {

// Returns energies float64 [N] and gradients float32 [N, D] or [N, D, K] of the states x [N, D],
// which may be on any device; the results are on the CPU. `stop` is called before each block; once
// it returns true, the function returns the rows computed so far.
EnergyGrad energies_and_gradients(EnergyModel& model, const torch::Tensor& x, torch::Device device,
                                  const std::function<bool()>& stop = {});

// Returns the energies alone, float64 [N] on the CPU. `stop` is as above.
torch::Tensor energies(EnergyModel& model, const torch::Tensor& x, torch::Device device,
                       const std::function<bool()>& stop = {});

}  // namespace isinglass
