// Random-walk Metropolis, rwm (Metropolis et al. 1953; docs/concepts/samplers.md). It proposes to
// move R distinct sites, chosen uniformly, each to a uniform other value.
//
//   ratio = U(x) − U(y), because the proposal is symmetric
//
// A step leaves π invariant. On binary sites, however, an even fixed R never changes the parity of
// Σx, so that the chain is not irreducible.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

class RandomWalkSampler : public Sampler {
 public:
  // radius: the number of sites moved, a whole number in 1 … D. Where it adapts (most > least), it
  // is the real mean of a random number of sites (kernels/random_walk/random_walk.h).
  explicit RandomWalkSampler(Scale radius) : radius_(std::move(radius)) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  std::vector<Scale> scales() const override { return {radius_}; }

 private:
  Scale radius_;
};

}  // namespace isinglass
