// The run loop: burn-in, then steps, with observers. Observers own every side effect (files,
// progress, clocks); samplers have none.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/sampler.h"

namespace isinglass {

class Cooling;

struct RunPlan {
  int64_t burn_in = 0;
  int64_t steps = 0;
  int64_t thin = 1;
  Cooling* cooling = nullptr;  // of the target, in burn-in (engine/annealing/cooling.h)
  bool cuda_graph = false;     // engine/run/step_graph.h
};

class Observer {
 public:
  virtual ~Observer() = default;
  // After a step; where nobody wants every one, after the last of some that are taken at once.
  virtual void on_step(int64_t step, bool burn_in, const ChainState& state) {}
  // Whether on_step() must see all steps of burn-in, or of the run after it.
  virtual bool every_step(bool burn_in) const { return true; }
  virtual void on_sampling_start() {}                             // burn-in is over
  virtual void on_draw(int64_t draw, const ChainState& state) {}  // after every thin-th kept step
};

struct RunResult {
  int64_t steps = 0;               // kept steps that were made (fewer than planned if stopped)
  int64_t energy_evaluations = 0;  // per chain, during the kept steps
  double acceptance = 0;           // means over chains and kept steps
  double least_acceptance = 0;     // of the chain where it is least, or its group
  double hops = 0;
  int64_t non_finite = 0;
  double seconds = 0;  // of the kept steps with their observers, device synchronised
  std::optional<Adaptation> adaptation = {};  // none: nothing adapts, or burn-in was stopped
};

// Runs the plan. `stop` is asked between steps; true ends the run early. Steps are taken one by
// one, or as many at once as the sampler takes, up to the next draw, unless an observer wants every
// one of that phase.
RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const std::function<bool()>& stop = {});

// A clock's seconds, once the device's work is done.
double synchronised_seconds(torch::Device device);

// Uniformly random states of the space (standard normal for continuous ones), by the seed.
torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device);

}  // namespace isinglass
