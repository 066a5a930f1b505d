// Local self-balancing samplers lsb-1, lsb-2, flsb-1, flsb-2 for binary states (Sansone 2022,
// "Local self-balancing MCMC in discrete spaces", eq. 2 and algorithm 2;
// docs/concepts/samplers.md). They propose one flip, weighted by a balancing function g_θ that is
// learned in burn-in:
//
//   Q_θ(y | x) ∝ g_θ(e^{d_i(x)}) over the flips of one site i; g_θ: learned_balancing.h
//   lsb:   d_i = Δ_i, the exact difference U(x) − U(y)
//   flsb:  d_i = (1 − 2x_i) s_i, the first-order estimate, s = −∇U
//   ratio = U(x) − U(y) + log Q_θ(x | y) − log Q_θ(y | x)
//
// In burn-in, θ and log η minimise the objective J below by SGD (rate 1e-2, momentum 0.9);
// afterwards they are fixed, and a step leaves π invariant. J replaces the paper's eq. 5, for the
// reasons in docs/concepts/samplers.md.
//
// A step costs one model call, and in burn-in one more, at x*. A flip whose d is not finite has
// weight 0.
#pragma once

#include "engine/sampler.h"
#include "engine/samplers/learned_balancing.h"

namespace isinglass {

// A flip proposed from x, per chain, float64 [B]: U(y) − U(x), log Q_θ(y | x), log Q_θ(x | y).
struct ProposedFlip {
  torch::Tensor rise, log_forward, log_backward;
};

// Returns J of every chain, float64 [B], for x′ and x* drawn independently from Q_θ0(· | x) at the
// current θ0 = θ:
//
//   r = Q_θ/Q_θ0, which has the value 1 but a gradient in θ
//   A = min(1, π(y) Q_θ(x | y) / (π(x) Q_θ(y | x)))
//   M₁ = 1 − r′A(x′), M₂ = 1 − r*A(x*)
//   J = r′A(x′)[log A(x′) + log Q_θ(x′ | x) + U(x′)] + M₁[U(x) − log η − 1] + η M₁M₂
//
// The returned value is J − U(x), because U(x) depends on neither θ nor η. Therefore a constant in
// U changes nothing, and no digits are lost to it. Chains with a term that is not finite count as 0
// and get no gradient.
torch::Tensor self_balancing_objective(const ProposedFlip& move, const ProposedFlip& star,
                                       const torch::Tensor& log_eta);

class SelfBalancingSampler : public Sampler, public HasWarmup {
 public:
  // needs: kDifferences for lsb, kGradient for flsb.
  SelfBalancingSampler(Needs needs, BalancingForm form) : needs_(needs), form_(form) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::single_process()) const override;
  const HasWarmup* warmup() const override { return this; }
  Adaptation adaptation(const ChainState& state, const StepParams& params,
                        const BurnIn& burn_in) const override;
  Needs needs() const override { return needs_; }
  NamedTensors learned(const ChainState& state) const override;  // theta [P], log_eta []
  void restore(ChainState& state, const NamedTensors& learned) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  // Returns d of all flips, float64 [B, D].
  torch::Tensor flip_differences(const torch::Tensor& x, const Evaluation& at) const;
  torch::Tensor log_weights(const torch::Tensor& theta, const torch::Tensor& d) const;

  Needs needs_;
  BalancingForm form_;
};

}  // namespace isinglass
