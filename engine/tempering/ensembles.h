// What parallel tempering keeps of its ensembles: their chains, where those stand, and what is counted.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/run/step_graph.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "kernels/ops/swap.h"

namespace isinglass {

struct ParallelTempering::Scratch : SamplerScratch {
  std::unique_ptr<LadderPath> path;
  ChainState chains;  // C·R
  ChainState fresh;   // C: exact draws
  StepParams params;  // of the chains
  std::optional<StepGraph> burn_in_steps;
  ops::RungTensors rungs;
  ops::RungChainTensors at;
  ops::SwapSums sums;
  int64_t round = 0;  // scans of the present round
  int64_t rounds = 0;

  EnergyModel& model() const { return path->model(); }

  // The chains' numbers are those of (seed, replica, local step).
  void begin(const StepParams& scans, int64_t exploration) {
    if (params.rng.defined()) return;
    params = {scans.rng.clone(), at.scale};
    params.rng.select(0, 1).mul_(exploration);
  }

  int64_t ensembles() const { return at.chain.size(0); }
  int64_t size() const { return at.chain.size(1); }  // R
  torch::Tensor in_order() const { return at.chain.view(-1); }

  // What a checkpoint holds as it is: of the chains what is not made anew from their states with the
  // same last bits, and all that is counted, here and of the ensembles.
  struct Kept {
    const char* name;
    torch::Tensor tensor;
    int64_t dim = 0;  // along which are ensembles, or their chains
  };
  static constexpr int64_t kOfTheFirst = -1;  // a dim: the tensor is of the first ensemble alone

  std::vector<Kept> kept(const Statistics& counted) const {
    std::vector<Kept> all = {{"energy", chains.current.energy},
                             {"rejection", sums.rejection},
                             {"acceptance", sums.acceptance},
                             {"end", sums.end},
                             {"trips", sums.trips},
                             {"history", sums.history, kOfTheFirst},
                             {"rises", sums.rises, 1},
                             {"acceptance_sum", counted.acceptance_sum},
                             {"hops_sum", counted.hops_sum},
                             {"non_finite", counted.non_finite}};
    if (chains.workspace.kept.defined()) all.push_back({"kept", chains.workspace.kept});
    return all;
  }
};

}  // namespace isinglass
