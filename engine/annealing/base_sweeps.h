// Gibbs sweeps of a base (models/on_base.h), which leave it invariant.
#pragma once

#include <cstdint>

#include "models/energy_model.h"

namespace isinglass {

// Makes sweeps of the chains x [N, D] in place, with the step numbers first_step, first_step + 1, …
// of the key. The base must have sweeps.
void sweep_base(EnergyModel& base, const torch::Tensor& chain_ids, uint64_t key, int64_t first_step,
                int64_t sweeps, torch::Tensor& x);

}  // namespace isinglass
