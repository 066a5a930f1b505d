// Chains in a file, to the last bit: what a state is, and what is kept of it that a new evaluation
// would give other last bits, such as sums of moves.
#pragma once

#include "engine/context.h"
#include "engine/sampler.h"
#include "io/pt/pt_file.h"

namespace isinglass {

// By all ranks together: the chains of all, the parameters and what the sampler has learned.
PtDict saved_chains(const Sampler& sampler, const ChainState& state, const StepParams& params,
                    const Ranks& ranks);

// The states that were saved, of all chains. Throws Error if there are not so many.
torch::Tensor saved_states(const PtDict& saved, int64_t chains);

// Into this rank's chains, a state that init() has made of their part of saved_states() for the same
// model and sampler. Throws Error if it does not fit.
void restore_chains(const Sampler& sampler, ChainState& state, StepParams& params,
                    const PtDict& saved, Share own);

}  // namespace isinglass
