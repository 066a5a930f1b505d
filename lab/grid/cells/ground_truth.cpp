// Implements the block Gibbs chains of the ground truth.
#include "lab/grid/cells/ground_truth.h"

#include <algorithm>
#include <vector>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/diagnostics/rank_normalised.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/sampler.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "models/network/rbm.h"

namespace isinglass {
namespace {

constexpr int64_t kKeptEnergies = 4000;  // R̂ takes at most about this many energies of each chain.

// Holds thinned energies [chains] and kMmdDraws states [chains, D] far apart; empty if stopped.
struct Stretch {
  std::vector<torch::Tensor> energies, states;
};

Stretch sweep(const Sampler& sampler, EnergyModel& model, ChainState& state, StepParams& params,
              int64_t sweeps, const std::function<bool()>& stop) {
  Stretch kept;
  const int64_t thin = std::max<int64_t>(1, sweeps / kKeptEnergies);
  const int64_t apart = sweeps / kMmdDraws;
  for (int64_t left = sweeps - 1; left >= 0; --left) {
    sampler.step(model, state, params);
    if (left % thin == 0)
      kept.energies.push_back(state.current.untempered().to(torch::kCPU).clone());
    if (left % apart == 0 && left / apart < kMmdDraws) {
      kept.states.push_back(
          state.x.to(torch::kCPU, torch::kUInt8, /*non_blocking=*/false, /*copy=*/true));
    }
    if (stop()) return {};
  }
  return kept;
}

}  // namespace

GroundTruth block_gibbs_truth(EnergyModel& model, torch::Device device,
                              const std::function<bool()>& stop,
                              const GroundTruthOptions& options) {
  require(dynamic_cast<const RbmModel*>(&model),
          "reference block-gibbs needs an rbm, but the model is {}", model.kind_name());
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, model);
  const torch::Tensor ids =
      torch::arange(2 * options.chains, torch::TensorOptions(torch::kInt64).device(device));
  const uint64_t key = stream_key(0, RandomStream::kReference);
  ChainState state = sampler->init(model, random_states(model.space(), ids, key, device), ids);
  StepParams params = sampler->params(key, device);
  GroundTruth truth{.sweeps = options.least_sweeps / 2};
  sweep(*sampler, model, state, params, truth.sweeps, stop);
  // Each stretch is as long as all sweeps before it, so that it is the second half of the sweeps so
  // far.
  while (truth.sweeps < options.most_sweeps) {
    const Stretch late = sweep(*sampler, model, state, params, truth.sweeps, stop);
    if (late.energies.empty()) break;
    truth.sweeps *= 2;
    truth.rhat = rank_rhat(torch::stack(late.energies), energy_rounding(model, state.x));
    if (!(truth.rhat < options.converged_rhat)) continue;
    const torch::Tensor draws = torch::stack(late.states, 1);
    truth.draws = draws.slice(0, 0, options.chains).clone();
    truth.floor = hamming_mmd(draws.slice(0, options.chains).contiguous(), truth.draws);
    break;
  }
  return truth;
}

}  // namespace isinglass
