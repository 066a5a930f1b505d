// Draws of a base (models/on_base.h), and the Gibbs sweeps that leave it invariant.
#pragma once

#include <cstdint>

#include "models/energy_model.h"

namespace isinglass {

// Makes sweeps of the chains x [N, D] in place, with the step numbers first_step, first_step + 1, …
// of the key. The base must have sweeps.
void sweep_base(EnergyModel& base, const torch::Tensor& chain_ids, uint64_t key, int64_t first_step,
                int64_t sweeps, torch::Tensor& x);

// Returns true if base_draws() is possible: the base has exact draws or sweeps.
bool has_base_draws(EnergyModel& base);

// Returns draws [N, D], which depend on (seed, chain id): exact ones, or, if the base has none, the
// states after kBaseSweeps sweeps from uniform states. Throws Error if it has no sweeps either.
inline constexpr int64_t kBaseSweeps = 2000;
torch::Tensor base_draws(EnergyModel& base, const torch::Tensor& chain_ids, uint64_t seed);

}  // namespace isinglass
