// The run loop; see run.h.
#include "engine/run/run.h"

#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/annealing/cooling.h"
#include "engine/run/step_graph.h"
#include "io/error.h"
#include "kernels/ops/random_states.h"

namespace isinglass {

double synchronised_seconds(torch::Device device) {
  if (device.is_cuda()) {
    const c10::DeviceGuard on_device(device);
    c10::cuda::device_synchronize();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

// Makes steps of the chains.
class Stepper {
 public:
  Stepper(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
          const RunPlan& plan, const std::vector<Observer*>& observers)
      : model_(model),
        sampler_(sampler),
        state_(state),
        params_(params),
        graph_(sampler, plan.cuda_graph),
        observers_(observers),
        at_once_(sampler.steps_at_once(state)) {}

  // `most` steps or fewer, but one at least. Returns their number.
  int64_t advance(int64_t most, bool burn_in) {
    const bool one_by_one =
        std::any_of(observers_.begin(), observers_.end(),
                    [&](const Observer* observer) { return observer->every_step(burn_in); });
    const int64_t n = std::min(most, one_by_one ? 1 : at_once_);
    evaluations_ += n > 1 ? sampler_.steps(model_, state_, params_, n).evaluations
                          : graph_.step(model_, state_, params_).evaluations;
    return n;
  }

  int64_t take_evaluations() { return std::exchange(evaluations_, 0); }

 private:
  EnergyModel& model_;
  const Sampler& sampler_;
  ChainState& state_;
  StepParams& params_;
  StepGraph graph_;
  const std::vector<Observer*>& observers_;
  int64_t at_once_, evaluations_ = 0;
};

}  // namespace

RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const std::function<bool()>& stop) {
  Stepper stepper(model, sampler, state, params, plan, observers);
  const bool changing = plan.cooling || sampler.learns();  // steps of burn-in differ
  const int64_t quarter = (plan.burn_in + 3) / 4;
  torch::Tensor before;  // the acceptances summed up to the last quarter
  for (int64_t t = 0; t < plan.burn_in; ++t) {
    if (stop && stop()) return {};
    if (plan.cooling) plan.cooling->at_step(t, plan.burn_in, sampler, state);
    if (changing) {
      if (t == plan.burn_in - quarter) before = state.statistics.acceptance_sum.clone();
      sampler.burn_in_step(model, state, params, t, plan.burn_in);
    } else {
      t += stepper.advance(plan.burn_in - t, true) - 1;
    }
    for (Observer* observer : observers) observer->on_step(t, true, state);
  }
  for (Observer* observer : observers) observer->on_sampling_start();
  RunResult result;
  if (sampler.learns()) {
    BurnIn burn_in{.steps = plan.burn_in};
    if (before.defined()) {
      burn_in.acceptance =
          (state.statistics.acceptance_sum - before).mean().item<double>() / quarter;
    }
    result.adaptation = sampler.adaptation(state, params, burn_in);
  }
  state.statistics.reset();
  stepper.take_evaluations();
  const double start = synchronised_seconds(state.x.device());
  int64_t done = 0;
  while (done < plan.steps && !(stop && stop())) {
    const int64_t to_draw = plan.thin - done % plan.thin;
    done += stepper.advance(std::min(to_draw, plan.steps - done), false);
    for (Observer* observer : observers) observer->on_step(done - 1, false, state);
    if (done % plan.thin == 0) {
      for (Observer* observer : observers) observer->on_draw(done / plan.thin - 1, state);
    }
  }
  result.seconds = synchronised_seconds(state.x.device()) - start;
  result.energy_evaluations = stepper.take_evaluations();
  result.steps = done;
  if (done > 0) {
    const double steps = static_cast<double>(done);
    result.acceptance = state.statistics.acceptance_sum.mean().item<double>() / steps;
    result.least_acceptance = state.statistics.acceptance_sum.min().item<double>() / steps;
    result.hops = state.statistics.hops_sum.to(torch::kFloat64).mean().item<double>() / steps;
    result.non_finite = state.statistics.non_finite.sum().item<int64_t>();
  }
  return result;
}

torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device) {
  torch::Tensor x = torch::empty({chain_ids.size(0), space.sites},
                                 torch::TensorOptions(space.dtype()).device(device));
  const torch::Tensor ids = chain_ids.to(device);
  const auto key = static_cast<int64_t>(seed);
  if (space.kind == StateKind::kPermutation) {
    ops::permutation_rows(ids, key, 0, Purpose::kInitialState, x);
  } else if (!space.discrete()) {
    ops::normal_rows(ids, key, 0, Purpose::kInitialState, x);
  } else {
    ops::uniform_rows(space.categories, ids, key, 0, Purpose::kInitialState, x);
  }
  return x;
}

}  // namespace isinglass
