// Makes steps of the same chains, captured in a CUDA graph where possible (captured_work.h).
// Whatever changes from step to step lies in device memory (chain_state.h), so that the chains are
// those of Sampler::step().
#pragma once

#include "engine/run/captured_work.h"
#include "engine/sampler.h"

namespace isinglass {

class StepGraph {
 public:
  // capture: requests a CUDA graph; it needs a GPU, and a sampler and a model that allow it
  // (Sampler::captures). Without it, step() calls Sampler::step(). The sampler must outlive this
  // object.
  StepGraph(const Sampler& sampler, bool capture) : sampler_(sampler), work_("a step", capture) {}

  // Makes a step. Every call must have the same model and state, with its tensors where they were
  // at the call before, unless invalidate() was called since.
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) {
    work_.run(state.x.device(), [&] { info_ = sampler_.step(model, state, params); });
    return info_;
  }

  // Makes the next step() capture anew.
  void invalidate() { work_.invalidate(); }

 private:
  const Sampler& sampler_;
  CapturedWork work_;
  StepInfo info_;
};

}  // namespace isinglass
