// The run loop: burn-in, then steps, with observers and what changes between steps.
#pragma once

#include <optional>
#include <vector>

#include "engine/context.h"
#include "engine/run/observer.h"
#include "engine/run/transition.h"
#include "engine/sampler.h"

namespace isinglass {

// How far a run has come, beside its chains and what its observers keep.
struct RunProgress {
  int64_t burn_in = 0, steps = 0;        // made
  bool sampling = false;                 // burn-in is over, and what it says of itself is below
  int64_t energy_evaluations = 0;        // per chain, during the kept steps
  double seconds = 0;                    // of the kept steps
  // Acceptances and hops, summed up to the last quarter of burn-in: float64 [B].
  torch::Tensor acceptance_before = {}, hops_before = {};
  std::optional<Adaptation> adaptation = {};
};

// Saves what a run has made, for another that goes on with it to the bit.
class RunSaver {
 public:
  virtual ~RunSaver() = default;
  virtual bool due() = 0;  // this rank's wish, asked between steps
  // By all ranks together, between two steps; the observers' on_save() have been called.
  virtual void save(const RunProgress& progress) = 0;
};

struct RunPlan {
  int64_t burn_in = 0;
  int64_t steps = 0;
  int64_t thin = 1;
  Transition* transition = nullptr;  // between steps
  bool cuda_graph = false;           // engine/run/step_graph.h
  RunProgress made = {};             // by an earlier run, whose chains these are
  RunSaver* saver = nullptr;         // asked between steps; saves when the run is stopped, too
};

struct RunResult {
  int64_t steps = 0;               // kept steps that were made (fewer than planned if stopped)
  int64_t energy_evaluations = 0;  // per chain, during the kept steps
  double acceptance = 0;           // means over chains and kept steps
  double least_acceptance = 0;     // of the chain where it is least, or its group
  double hops = 0;
  int64_t unmoved = 0;  // chains that no kept step of the sampler moved
  int64_t non_finite = 0;
  double seconds =
      0;  // of the kept steps and their observers, on the slowest rank, device synchronised
  std::optional<Adaptation> adaptation = {};  // none: nothing adapts, or burn-in was stopped
};

// Whether a run can be saved in its burn-in: where nothing is learned but a scale, and nothing cools.
bool saves_burn_in(const Sampler& sampler, const RunPlan& plan);

// Runs the plan, between whose steps the context's stop() is asked. Steps are taken one by one, or
// as many at once as the sampler takes, up to the next draw or change, unless an observer wants
// every one of that phase. The result's means are over the chains of all ranks.
RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const Context& context = {});

}  // namespace isinglass
