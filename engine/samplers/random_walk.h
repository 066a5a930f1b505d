// Random-walk Metropolis, rwm (samplers.md §2.1): R distinct sites, chosen uniformly, each to a
// uniform other value. Symmetric: ratio = U(x) − U(y). On binary sites an even R never changes the
// parity of Σx.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

class RandomWalkSampler : public Sampler {
 public:
  // radius: the number of sites moved, a whole number in 1 … D
  explicit RandomWalkSampler(double radius) : radius_(radius) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  bool needs_gradient() const override { return false; }
  double initial_scale() const override { return radius_; }

 protected:
  void prepare(const EnergyModel&, ChainState&) const override {}

 private:
  double radius_;
};

}  // namespace isinglass
