// Discrete Langevin proposal along a fraction α of the gradient (flat-dlp). It proposes all sites
// at once:
//
//   P_{i,k} ∝ exp(α d_{i,k}/2 − [k ≠ x_i]/(2a)),   d_{i,k} = s_{i,k} − s_{i,x_i},  s = −∇U(x),
//   ratio = U(x) − U(y) + log q(x | y) − log q(y | x).
//
// For α = 1 it is dlp (docs/concepts/samplers.md), and for α → 0 it ignores the target. A step
// takes one model call, which computes energy and gradient at y; those at x are part of the state.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

class FlatLangevinSampler : public Sampler {
 public:
  FlatLangevinSampler(Scale step_size, double alpha)
      : step_size_(std::move(step_size)), alpha_(alpha) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {step_size_}; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  Scale step_size_;
  double alpha_;
};

}  // namespace isinglass
