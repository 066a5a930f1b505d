// The data that parallel tempering keeps of its ensembles: their chains, the rungs of these chains,
// and the counts.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/run/step_graph.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "kernels/ops/tempering.h"

namespace isinglass {

struct ParallelTempering::Scratch : SamplerScratch {
  std::unique_ptr<LadderPath> path;
  ChainState chains;  // C·R chains
  ChainState fresh;   // C chains, which hold exact draws of the reference
  StepParams params;  // parameters of the chains' steps
  std::optional<StepGraph> burn_in_steps;
  ops::RungTensors rungs;
  ops::RungChainTensors at;
  ops::SwapSums sums;
  int64_t round = 0;  // scans of the current round
  int64_t rounds = 0;

  EnergyModel& model() const { return path->model(); }

  // Starts the chains' random numbers, which depend on (seed, replica, local step).
  void begin(const StepParams& scans, int64_t exploration) {
    if (params.rng.defined()) return;
    params = {scans.rng.clone(), at.scale};
    params.rng.select(0, 1).mul_(exploration);
  }

  int64_t ensembles() const { return at.chain.size(0); }
  int64_t size() const { return at.chain.size(1); }  // R, the number of rungs
  torch::Tensor in_order() const { return at.chain.view(-1); }

  // A tensor that a checkpoint stores unchanged. These tensors are values of the chains that could
  // not be recomputed from their states with the same last bits, and all counts, of the chains and
  // of the ensembles.
  struct Kept {
    const char* name;
    torch::Tensor tensor;
    int64_t dim = 0;  // the dimension along which ensembles, or their chains, are counted
  };
  // A value of dim: the tensor belongs to the first ensemble alone.
  static constexpr int64_t kOfTheFirst = -1;

  std::vector<Kept> kept(const Statistics& counted) const {
    std::vector<Kept> all = {{"energy", chains.current.energy},
                             {"rejection", sums.rejection},
                             {"acceptance", sums.acceptance},
                             {"end", sums.end},
                             {"trips", sums.trips},
                             {"history", sums.history, kOfTheFirst},
                             {"rises", sums.delta_u, 1},
                             {"acceptance_sum", counted.acceptance_sum},
                             {"hops_sum", counted.hops_sum},
                             {"non_finite", counted.non_finite}};
    if (chains.workspace.cache.defined()) all.push_back({"kept", chains.workspace.cache});
    return all;
  }
};

}  // namespace isinglass
