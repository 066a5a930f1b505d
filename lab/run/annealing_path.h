// Chooses the annealing path and its sampler. The joint path of an RBM goes with the RBM's block
// Gibbs sweeps (engine/annealing/path.h).
#pragma once

#include "engine/annealing/path.h"
#include "lab/spec/spec.h"

namespace isinglass {

// Returns the path for a resolved sampler: joint if it sweeps an RBM, otherwise linear.
PathKind path_for(const SamplerSpec& sampler, const EnergyModel& model);

// Fills in the path and the sampler if the spec leaves them open. Throws Error if they do not go
// together.
void resolve_path(EvaluateSpec& spec, const EnergyModel& model);

}  // namespace isinglass
