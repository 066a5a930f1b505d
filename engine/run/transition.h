// What changes between steps: the temperature (engine/annealing/cooling.h, ais.h), and what goes
// with it.
#pragma once

#include <limits>

#include "engine/sampler.h"

namespace isinglass {

class Transition {
 public:
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  virtual ~Transition() = default;

  // Before step t, counted from 0 over burn-in and the steps after it. It may change the model and
  // what `state` knows of its energies, and never the chains' states, which are the sampler's.
  // Returns how many steps from t on pass before it is to be asked again, at least 1.
  //
  // Where steps are captured (step_graph.h), after burn-in, it changes tensors in place.
  virtual int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                              StepParams& params) = 0;
};

}  // namespace isinglass
