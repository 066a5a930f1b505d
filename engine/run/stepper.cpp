// Implements the stepper.
#include "engine/run/stepper.h"

#include <algorithm>

namespace isinglass {

Stepper::Stepper(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
                 bool cuda_graph, StepHook* hook, int64_t first)
    : model_(model),
      sampler_(sampler),
      state_(state),
      params_(params),
      graph_(sampler, cuda_graph),
      hook_(hook),
      t_(first),
      next_change_(hook ? first : StepHook::kForever),
      at_once_(sampler.steps_at_once(state)) {}

int64_t Stepper::before_steps(int64_t most) {
  if (t_ == next_change_) {
    const int64_t still = hook_->before_step(t_, sampler_, state_, params_);
    next_change_ = still < StepHook::kForever - t_ ? t_ + still : StepHook::kForever;
  }
  return std::min({most, at_once_, next_change_ - t_});
}

int64_t Stepper::advance(int64_t most) {
  const int64_t n = before_steps(most);
  evaluations_ += n > 1 ? sampler_.steps(model_, state_, params_, n).evaluations
                        : graph_.step(model_, state_, params_).evaluations;
  t_ += n;
  return n;
}

int64_t Stepper::advance_burn_in(int64_t most, int64_t total, const Ranks& ranks) {
  const HasWarmup* warmup = sampler_.warmup();
  if (!warmup && !hook_) return advance(most);
  const int64_t n = before_steps(warmup ? 1 : most);
  const StepInfo info = warmup ? warmup->burn_in_step(model_, state_, params_, t_, total, ranks)
                               : sampler_.steps(model_, state_, params_, n);
  evaluations_ += info.evaluations;
  t_ += n;
  return n;
}

}  // namespace isinglass
