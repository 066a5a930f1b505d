// The run loop; see run.h.
#include "engine/run.h"

#include <c10/cuda/CUDAFunctions.h>

#include <chrono>

#include "engine/cooling.h"
#include "io/error.h"
#include "kernels/ops/chains.h"

namespace isinglass {

double synchronised_seconds(torch::Device device) {
  if (device.is_cuda()) c10::cuda::device_synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const std::function<bool()>& stop) {
  for (int64_t t = 0; t < plan.burn_in; ++t) {
    if (stop && stop()) return {};
    if (plan.cooling) plan.cooling->at_step(t, plan.burn_in, sampler, state);
    sampler.burn_in_step(model, state, params, t, plan.burn_in);
    for (Observer* observer : observers) observer->on_step(t, true, state);
  }
  for (Observer* observer : observers) observer->on_sampling_start();
  state.statistics.reset();
  RunResult result;
  const double start = synchronised_seconds(state.x.device());
  int64_t done = 0;
  for (; done < plan.steps && !(stop && stop()); ++done) {
    result.energy_evaluations += sampler.step(model, state, params).evaluations;
    for (Observer* observer : observers) observer->on_step(done, false, state);
    if ((done + 1) % plan.thin == 0) {
      for (Observer* observer : observers) observer->on_draw(done / plan.thin, state);
    }
  }
  result.seconds = synchronised_seconds(state.x.device()) - start;
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
