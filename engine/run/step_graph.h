// Steps of the same chains as one launch each: on a GPU a step's kernels are captured in a CUDA
// graph once, and replayed.
//
// What changes from step to step lies in device memory (chain_state.h), at addresses that stay: the
// replayed kernels read and advance it there, so that the chains are those of Sampler::step(). The
// first steps run as they are: they make the buffers, and libraries load what they need.
#pragma once

#include <memory>

#include "engine/sampler.h"

namespace isinglass {

class StepGraph {
 public:
  // capture: on a GPU, with a sampler and a model that allow it (Sampler::asks_device,
  // EnergyModel::capturable); without it, step() is Sampler::step(). The sampler outlives this.
  StepGraph(const Sampler& sampler, bool capture);
  StepGraph(StepGraph&&) noexcept;
  ~StepGraph();

  // Every call has the same model and state, whose tensors are where they were at the call before,
  // unless the step was forgotten.
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params);

  // The next step is captured anew.
  void forget();

 private:
  struct Capture;

  const Sampler& sampler_;
  std::unique_ptr<Capture> capture_;  // null: none
};

}  // namespace isinglass
