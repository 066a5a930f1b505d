// The interface of what changes between steps: the temperature (engine/annealing/cooling.h, ais.h),
// and what depends on it.
#pragma once

#include <limits>

#include "engine/sampler.h"

namespace isinglass {

class StepHook {
 public:
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  virtual ~StepHook() = default;

  // Called before step t, counted from 0 over burn-in and the steps after it. It may change the
  // model, and what `state` knows of its energies. If it changes the chains' states, which belong
  // to the sampler, it has the sampler evaluate them (Sampler::reevaluate). Returns after how many
  // steps from t on it must be called again, at least 1.
  //
  // Where steps are captured (step_graph.h), which is after burn-in, it must change tensors in
  // place.
  virtual int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                              StepParams& params) = 0;
  // Returns true if the hook depends on t alone, so that a run that was saved between two steps can
  // go on with a new hook: it is called for the last step that was made before the chains' energies
  // are restored, and then for the next one.
  virtual bool goes_on() const { return false; }
};

}  // namespace isinglass
