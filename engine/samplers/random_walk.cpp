// See random_walk.h.
#include "engine/samplers/random_walk.h"

#include "kernels/ops.h"

namespace isinglass {

StepInfo RandomWalkSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  ops::flip_uniformly(state.x, params.rng, state.chain_ids, params.scale, model.space().categories,
                      state.workspace.y);
  evaluate_proposal(model, state);
  accept(state, params);
  return {.evaluations = 1};
}

}  // namespace isinglass
