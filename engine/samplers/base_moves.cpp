// Implements the moves by the base between the steps of a sampler.
#include "engine/samplers/base_moves.h"

namespace isinglass {

ChainState BaseMovesSampler::init(EnergyModel& model, const torch::Tensor& x,
                                  const torch::Tensor& chain_ids) const {
  ChainState state = inner_->init(model, x, chain_ids);
  state.base_moves = transition_.prepare(model, state);
  state.statistics.base_moves.emplace(Statistics::create(state.chains(), state.x.device()));
  return state;
}

int64_t BaseMovesSampler::move(EnergyModel& model, ChainState& state,
                               const StepParams& params) const {
  return transition_.move(model, state, params, needs(), *state.base_moves,
                          *state.statistics.base_moves);
}

StepInfo BaseMovesSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  int64_t calls = 0;
  if (!reversed_) calls += move(model, state, params);
  StepInfo info;
  if (reversed_) {
    // The moves have the random numbers of this step, which the sampler's step advances.
    const StepParams now{params.rng.clone(), params.scale};
    info = inner_->step(model, state, params);
    calls += move(model, state, now);
  } else {
    info = inner_->step(model, state, params);
  }
  info.evaluations += calls;
  return info;
}

StepInfo BaseMovesSampler::burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                        int64_t t, int64_t total, const Ranks& ranks) const {
  const int64_t calls = move(model, state, params);
  StepInfo info = inner_->warmup()->burn_in_step(model, state, params, t, total, ranks);
  info.evaluations += calls;
  return info;
}

// The moves are their own reversals, so that the reversal of a step makes them after that of the
// sampler's step.
std::unique_ptr<Sampler> BaseMovesSampler::reversed(int64_t last) const {
  std::shared_ptr<const Sampler> back = inner_->reversed(last);
  auto sampler =
      std::make_unique<BaseMovesSampler>(back ? back : inner_, transition_.moves(), !reversed_);
  sampler->set_identity(name(), settings());
  return sampler;
}

}  // namespace isinglass
