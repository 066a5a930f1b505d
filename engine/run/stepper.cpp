// Implements the stepper.
#include "engine/run/stepper.h"

#include <algorithm>

namespace isinglass {

Stepper::Stepper(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
                 bool cuda_graph, Transition* transition, int64_t first)
    : model_(model),
      sampler_(sampler),
      state_(state),
      params_(params),
      graph_(sampler, cuda_graph),
      transition_(transition),
      t_(first),
      next_change_(transition ? first : Transition::kForever),
      at_once_(sampler.steps_at_once(state)) {}

int64_t Stepper::before_steps(int64_t most) {
  if (t_ == next_change_) {
    const int64_t still = transition_->before_step(t_, sampler_, state_, params_);
    next_change_ = still < Transition::kForever - t_ ? t_ + still : Transition::kForever;
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
  if (!sampler_.learns() && !transition_) return advance(most);
  const bool learns = sampler_.learns();
  const int64_t n = before_steps(learns ? 1 : most);
  const StepInfo info = learns ? sampler_.burn_in_step(model_, state_, params_, t_, total, ranks)
                               : sampler_.steps(model_, state_, params_, n);
  evaluations_ += info.evaluations;
  t_ += n;
  return n;
}

}  // namespace isinglass
