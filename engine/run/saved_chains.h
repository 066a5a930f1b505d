// Saves chains to a file so that they can be restored to the last bit. Besides the states, this
// includes cached values that a new evaluation would give with other last bits, such as sums of
// moves.
#pragma once

#include "engine/context.h"
#include "engine/sampler.h"
#include "io/pt/pt_file.h"

namespace isinglass {

// Called by all ranks together. Returns the chains of all ranks, the parameters and what the
// sampler has learned.
PtDict saved_chains(const Sampler& sampler, const ChainState& state, const StepParams& params,
                    const Ranks& ranks);

// Returns the saved states of all chains. Throws Error if their number is not `chains`.
torch::Tensor saved_states(const PtDict& saved, int64_t chains);

// Restores this rank's chains, in a state that init() has made, for the same model and sampler,
// from this rank's part of saved_states(). Throws Error if the saved chains do not fit.
void restore_chains(const Sampler& sampler, ChainState& state, StepParams& params,
                    const PtDict& saved, Shard own);

}  // namespace isinglass
