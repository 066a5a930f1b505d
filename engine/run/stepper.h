// Makes the steps of chains, and calls the temperature schedule between them.
#pragma once

#include <utility>

#include "engine/context.h"
#include "engine/run/step_graph.h"
#include "engine/run/step_hook.h"
#include "engine/sampler.h"

namespace isinglass {

class Stepper {
 public:
  // All arguments must outlive this object; hook may be null. cuda_graph requests that steps are
  // captured in a CUDA graph (step_graph.h). first is the number of the first step.
  Stepper(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
          bool cuda_graph, StepHook* hook, int64_t first = 0);

  // Makes between 1 and `most` steps, as many as the sampler makes at once, up to the next change.
  // Returns their number.
  int64_t advance(int64_t most);
  // Does the same in a burn-in of `total` steps. A sampler that learns makes one step at a time.
  // Steps are captured only if the sampler learns nothing and there is no hook.
  int64_t advance_burn_in(int64_t most, int64_t total, const Ranks& ranks);

  int64_t evaluations() const { return evaluations_; }
  // Returns the model calls per chain since the last call of this function.
  int64_t take_evaluations() { return std::exchange(evaluations_, 0); }

 private:
  int64_t before_steps(int64_t most);

  EnergyModel& model_;
  const Sampler& sampler_;
  ChainState& state_;
  StepParams& params_;
  StepGraph graph_;
  StepHook* hook_;
  int64_t t_, next_change_, at_once_, evaluations_ = 0;
};

}  // namespace isinglass
