// Which path annealing takes, and by which sampler: the joint one of an RBM goes with its block
// Gibbs sweeps (engine/annealing/path.h).
#pragma once

#include "engine/annealing/path.h"
#include "lab/spec/spec.h"

namespace isinglass {

// Of a resolved sampler: joint, if it sweeps an RBM.
PathKind path_for(const SamplerSpec& sampler, const EnergyModel& model);

// Path and sampler, where one or both are left open. Throws Error if they do not go together.
void resolve_path(EvaluateSpec& spec, const EnergyModel& model);

}  // namespace isinglass
