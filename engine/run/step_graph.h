// Steps of the same chains, captured in a CUDA graph where that is allowed (captured_work.h): what changes
// from step to step lies in device memory (chain_state.h), so that the chains are those of
// Sampler::step().
#pragma once

#include "engine/run/captured_work.h"
#include "engine/sampler.h"

namespace isinglass {

class StepGraph {
 public:
  // capture: on a GPU, with a sampler and a model that allow it (Sampler::asks_device,
  // EnergyModel::capturable); without it, step() is Sampler::step(). The sampler outlives this.
  StepGraph(const Sampler& sampler, bool capture) : sampler_(sampler), work_("a step", capture) {}

  // Every call has the same model and state, whose tensors are where they were at the call before,
  // unless the step was forgotten.
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) {
    work_.run(state.x.device(), [&] { info_ = sampler_.step(model, state, params); });
    return info_;
  }

  // The next step is captured anew.
  void forget() { work_.forget(); }

 private:
  const Sampler& sampler_;
  CapturedWork work_;
  StepInfo info_;
};

}  // namespace isinglass
