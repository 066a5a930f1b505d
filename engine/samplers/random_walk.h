// Random-walk Metropolis, rwm (docs/concepts/samplers.md): R distinct sites, chosen uniformly, each
// to a uniform other value. Symmetric: ratio = U(x) − U(y). On binary sites an even R never changes
// the parity of Σx.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

class RandomWalkSampler : public Sampler {
 public:
  // radius: the number of sites moved, a whole number in 1 … D; or, where it adapts (most > least),
  // their mean: kernels/random_walk/random_walk.h
  explicit RandomWalkSampler(Scale radius) : radius_(std::move(radius)) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  std::vector<Scale> scales() const override { return {radius_}; }

 protected:
  void prepare(const EnergyModel&, ChainState&) const override {}

 private:
  Scale radius_;
};

}  // namespace isinglass
