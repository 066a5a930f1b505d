// Jump samplers, which propose new values for all sites at once by simulating a continuous-time
// Markov chain of locally balanced jumps (docs/concepts/samplers.md). kernels/jump/jump.h defines
// the transition rows P_i.
//
//   y_i ~ P_i(· | x_i; s(x)) for every site i
//   ratio = U(x) − U(y) + Σ_i log P_i(x_i | y_i; s(y)) − Σ_i log P_i(y_i | x_i; s(x))
//
//   lbj, lbjf, lbjb: Sun, Dai, Dai, Zhou & Schuurmans 2022, "Discrete Langevin sampler via
//                    Wasserstein gradient flow", eq. 11, 12 and 13: simulated for a time τ by
//                    interpolation, forward Euler, backward Euler
//   dlp:             Zhang, Liu & Liu 2022, "A Langevin-like sampler for discrete distributions",
//                    step size a
//
// All of them leave π invariant, except unadjusted dlp, which omits the Metropolis test.
//
// A step costs one model call: energy and gradient at y; those at x are in the state. A lattice
// with a neighbourhood table has a sampler of its own, which makes the same chains.
#pragma once

#include "engine/sampler.h"
#include "kernels/jump/jump.h"

namespace isinglass {

class JumpSampler : public Sampler {
 public:
  // scale: τ or a, positive, with the range in which it may adapt.
  JumpSampler(JumpRule rule, Scale scale, Balancing balancing, bool unadjusted)
      : rule_(rule), scale_(std::move(scale)), balancing_(balancing), unadjusted_(unadjusted) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {scale_}; }
  bool exact() const override { return !unadjusted_; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

  JumpRule rule_;
  Scale scale_;
  Balancing balancing_;
  bool unadjusted_;
};

// Makes the jumps on a lattice with a neighbourhood table: one kernel makes the whole step, without
// gradients (kernels/jump/fast/lattice_jump.h). On a GPU it makes many steps per launch, provided a
// chain fits into shared memory.
class LatticeJumpSampler : public JumpSampler {
 public:
  using JumpSampler::JumpSampler;

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    return steps(model, state, params, 1);
  }
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override;
  Needs needs() const override { return Needs::kEnergy; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void refresh_cache(const EnergyModel& model, ChainState& state) const override;
};

}  // namespace isinglass
