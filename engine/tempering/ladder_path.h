// The path of energies U_β for the chains of parallel tempering, with one β per chain
// (docs/concepts/tempering.md; engine/annealing/path.h lists the paths). It provides the target at
// the chains' β, its reference at β = 0, and the energies that a round of swaps needs.
#pragma once

#include <memory>

#include "engine/annealing/factorised.h"
#include "engine/annealing/path.h"
#include "engine/sampler.h"
#include "kernels/ops/tempering.h"

namespace isinglass {

class LadderPath {
 public:
  virtual ~LadderPath() = default;

  virtual EnergyModel& model() = 0;
  virtual EnergyModel& reference() = 0;  // the model at β = 0, for any number of chains
  virtual double log_z_start() const = 0;

  // Allocates at.beta and the energies that swaps read.
  virtual void prepare(ops::RungChainTensors& at) = 0;
  // Sets the β of every chain to that of its rung, and the energy accordingly.
  virtual void place(const ops::RungTensors& rungs, const ops::RungChainTensors& at,
                     ChainState& chains) = 0;
  // Returns true if the energies that a round reads of pairs that do not swap are available without
  // extra cost.
  virtual bool measures_all() const = 0;
  // Provides the energies that a round of swaps reads, in the step of rng; at.energy is the chains'
  // energy.
  virtual void before_swaps(const ops::RungTensors& rungs, const ops::SwapSums& sums,
                            const torch::Tensor& rng, ops::RungChainTensors& at,
                            const ChainState& chains) = 0;
  // Updates gradients or differences to the chains' new β.
  virtual void after_swaps(ChainState& chains) = 0;
};

// Makes the path for `chains` chains of target. Target and start must outlive it. Throws Error as
// make_path() does.
std::unique_ptr<LadderPath> make_ladder_path(PathKind kind, EnergyModel& target,
                                             const Factorised& start, torch::Device device,
                                             int64_t chains);

}  // namespace isinglass
