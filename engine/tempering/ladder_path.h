// The path of energies U_β that chains of parallel tempering stand on, a β a chain
// (docs/concepts/tempering.md; engine/annealing/path.h says which there are): the target at the
// chains' β, its reference at β = 0, and what a round of swaps needs of both.
#pragma once

#include <memory>

#include "engine/annealing/factorised.h"
#include "engine/annealing/path.h"
#include "engine/sampler.h"
#include "kernels/ops/swap.h"

namespace isinglass {

class LadderPath {
 public:
  virtual ~LadderPath() = default;

  virtual EnergyModel& model() = 0;
  virtual EnergyModel& reference() = 0;  // β = 0, for any number of chains
  virtual double log_z_start() const = 0;

  // Makes at.beta and the energies that swaps read.
  virtual void prepare(ops::RungChainTensors& at) = 0;
  // Every chain has the β of its rung, and its energy of it.
  virtual void place(const ops::RungTensors& rungs, const ops::RungChainTensors& at,
                     ChainState& chains) = 0;
  // Whether what a round reads of pairs that do not swap is at hand.
  virtual bool measures_all() const = 0;
  // What a round reads of the chains' energies, in the step of rng; at.energy is theirs.
  virtual void before_swaps(const ops::RungTensors& rungs, const ops::SwapSums& sums,
                            const torch::Tensor& rng, ops::RungChainTensors& at,
                            const ChainState& chains) = 0;
  virtual void after_swaps(ChainState& chains) = 0;  // gradients or differences, of the new β
};

// For `chains` chains of target, which outlives the path as start does. Throws Error as make_path
// does.
std::unique_ptr<LadderPath> make_ladder_path(PathKind kind, EnergyModel& target,
                                             const Factorised& start, torch::Device device,
                                             int64_t chains);

}  // namespace isinglass
