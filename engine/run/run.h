// The run loop: burn-in, then the kept steps, with observers and with a temperature schedule
// between steps.
#pragma once

#include <exception>
#include <limits>
#include <optional>
#include <vector>

#include "engine/context.h"
#include "engine/run/observer.h"
#include "engine/run/step_hook.h"
#include "engine/sampler.h"

namespace isinglass {

// The progress of a run, apart from its chains and from what observers keep.
struct RunProgress {
  int64_t burn_in = 0, steps = 0;  // steps made
  // True if burn-in is over; `adaptation` below is then its result.
  bool sampling = false;
  int64_t energy_evaluations = 0;  // per chain, during the kept steps
  double seconds = 0;              // duration of the kept steps
  // Acceptances and numbers of changed sites, summed until the last quarter of burn-in began:
  // float64 [B] and int64 [B].
  torch::Tensor acceptance_before = {}, hops_before = {};
  std::optional<Adaptation> adaptation = {};
};

// Saves the state of a run, so that another run can continue it with the same bits.
class RunSaver {
 public:
  virtual ~RunSaver() = default;
  virtual bool due() = 0;  // asked between steps, on every rank
  // Called by all ranks together, between two steps, after the observers' on_save().
  virtual void save(const RunProgress& progress) = 0;
};

struct RunPlan {
  int64_t burn_in = 0;
  int64_t steps = 0;
  int64_t thin = 1;
  StepHook* hook = nullptr;  // called between steps
  bool cuda_graph = false;   // captures steps in a CUDA graph (engine/run/step_graph.h)
  RunProgress made = {};     // progress of an earlier run that this one continues
  // Asked between steps; it also saves when the run is stopped.
  RunSaver* saver = nullptr;
  // If true, an exception of a step ends the run early and is kept in its result. With several
  // ranks, which would wait for the failed one, it is thrown nevertheless.
  bool keeps_failure = false;
};

struct RunResult {
  int64_t steps = 0;               // kept steps made (fewer than planned if stopped)
  int64_t energy_evaluations = 0;  // per chain, during the kept steps
  double acceptance = 0;           // mean over chains and kept steps
  double least_acceptance = 0;     // mean of the chain, or group, where it is least
  // Mean number of sites changed per step, over chains and kept steps.
  double hops = 0;
  int64_t unmoved = 0;  // number of chains that no kept step moved
  int64_t non_finite = 0;
  // Mean acceptance of the moves by the model's base between the kept steps, and mean number of
  // sites that all of them change per step; NaN without such moves.
  double base_acceptance = std::numeric_limits<double>::quiet_NaN();
  double base_hops = std::numeric_limits<double>::quiet_NaN();
  // Duration of the kept steps and their observers, on the slowest rank, with the device
  // synchronised.
  double seconds = 0;
  // It is nullopt if nothing adapts, or if burn-in was stopped.
  std::optional<Adaptation> adaptation = {};
  std::exception_ptr failure = {};  // the exception that ended the run; null if none did
};

// Returns true if a run can be saved during burn-in. It can if the sampler learns only a scale or
// is parallel tempering, whose whole state is saved, and if the plan's hook, if any, can go on.
bool saves_burn_in(const Sampler& sampler, const RunPlan& plan);

// Runs the plan, and asks the context's stop() between steps. Makes as many steps at once as the
// sampler allows, up to the next draw or change of temperature. If an observer wants every step of
// the phase, it makes them one by one. The means of the result are over the chains of all ranks.
RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const Context& context = {});

}  // namespace isinglass
