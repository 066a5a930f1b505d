// Any-scale balanced samplers ab-1st, ab-shift, ab-max, ab-trace, ab-variance (Sun, Dai, Sutton,
// Schuurmans & Dai 2023, "Any-scale balanced samplers for discrete spaces", eq. 9–15;
// docs/concepts/samplers.md), on binary sites and ordered values 0 … K − 1.
//
//   u ~ N(A x, I), AᵀA = W + D; then every site independently from
//   logit_i(v) = v·(α c_i + x_i/σ) − ½ v²·(α D_ii + 1/σ),  c = s(x) − W x + Aᵀu
//   ratio = U(x) − U(y) + log N(u; A y, I) − log N(u; A x, I) + log q(x | y, u) − log q(y | x, u)
//
// W ≈ ∇² log π is learned in the first half of burn-in, where W = D = 0; then D by the rule
// (engine/semidefinite/bound.h). ab-1st keeps W = D = 0, as every variant does in a run without
// burn-in. (σ, α) adapt to the longest jumps in both halves (jump_search.h), the second from where
// the first ended, unless they are given: not by the paper's algorithm 3. The paper's eq. 14 lacks
// x_i/σ; kernels/any_scale/any_scale.h rewrites the logits about x. One model call a step.
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "engine/semidefinite/bound.h"

namespace isinglass {

struct AnyScaleOptions {
  std::optional<DiagonalRule> rule = {};  // how D follows from W; none: W = D = 0
  // float64 [D], ≤ 0: a diagonal W that is known, with D = −W and A = 0, so no u (the paper's deep
  // models). Undefined: none; not together with a rule.
  torch::Tensor diagonal_curvature = {};
  double sigma = 0.1, alpha = 0.5;
  bool search = true;  // for (σ, α), in burn-in
};

// W_ii = −1/(1 + var_i) from the variances [D] of data.
torch::Tensor curvature_of_variances(const torch::Tensor& variances);

class AnyScaleSampler : public Sampler {
 public:
  explicit AnyScaleSampler(AnyScaleOptions options);

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::alone()) const override;
  bool learns() const override { return options_.search || options_.rule; }
  std::optional<Adaptation> adaptation(const ChainState& state, const StepParams& params,
                                       const BurnIn& burn_in) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override;

  // W and D, as `curvature` float64 [D, D] and `diagonal` float64 [D]; none before they are learned
  // and where there is no rule. A burn-in after restore() keeps them.
  NamedTensors learned(const ChainState& state) const override;
  void restore(ChainState& state, const NamedTensors& learned) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  void begin_burn_in(ChainState& state) const;

  AnyScaleOptions options_;
};

}  // namespace isinglass
