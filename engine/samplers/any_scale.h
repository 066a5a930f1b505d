// Any-scale balanced samplers ab-1st, ab-shift, ab-max, ab-trace, ab-variance (Sun, Dai, Sutton,
// Schuurmans & Dai 2023, "Any-scale balanced samplers for discrete spaces", eq. 9–15;
// docs/concepts/samplers.md), for binary sites and ordered values 0 … K − 1.
//
// They propose new values for all sites at once, from a quadratic model of log π whose Gaussian
// auxiliary variable u makes the sites independent:
//
//   u ~ N(A x, I), AᵀA = W + D; then every site i independently from
//   logit_i(v) = v·(α c_i + x_i/σ) − ½ v²·(α D_ii + 1/σ),  c = s(x) − W x + Aᵀu
//   ratio = U(x) − U(y) + log N(u; A y, I) − log N(u; A x, I) + log q(x | y, u) − log q(y | x, u)
//
// The paper's eq. 14 lacks the term x_i/σ. kernels/any_scale/any_scale.h rewrites the logits about
// x.
//
// W ≈ ∇² log π is learned in the first half of burn-in, in which W = D = 0; then the rule
// determines D (engine/semidefinite/bound.h). ab-1st keeps W = D = 0, and so do the variants that
// learn W in a run without burn-in. ab-variance takes a diagonal W from the variances of data, with
// D = −W. Unless (σ, α) are given, both halves of burn-in search for the pair with the longest
// jumps (jump_search.h), the second half from where the first ended. This replaces the paper's
// algorithm 3.
//
// A step costs one model call. Once W, D, σ and α are fixed, which they are after burn-in, it
// leaves π invariant.
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "engine/semidefinite/bound.h"

namespace isinglass {

struct AnyScaleOptions {
  // How D follows from W. Without a rule, W = D = 0.
  std::optional<DiagonalRule> rule = {};
  // float64 [D], ≤ 0: a known diagonal W, with D = −W and A = 0, and therefore no u (the paper's
  // choice for deep models). Undefined if there is none; it excludes a rule.
  torch::Tensor diagonal_curvature = {};
  double sigma = 0.1, alpha = 0.5;
  bool search = true;  // searches for (σ, α) in burn-in
};

// Returns the diagonal curvature W_ii = −1/(1 + var_i), from the variances [D] of data.
torch::Tensor curvature_of_variances(const torch::Tensor& variances);

class AnyScaleSampler : public Sampler, public HasWarmup {
 public:
  explicit AnyScaleSampler(AnyScaleOptions options);

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::single_process()) const override;
  const HasWarmup* warmup() const override {
    return options_.search || options_.rule ? this : nullptr;
  }
  Adaptation adaptation(const ChainState& state, const StepParams& params,
                        const BurnIn& burn_in) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override;

  // learned() returns W and D, as `curvature` float64 [D, D] and `diagonal` float64 [D]. It returns
  // nothing before they are learned, and nothing without a rule. A burn-in after restore() keeps
  // them.
  NamedTensors learned(const ChainState& state) const override;
  void restore(ChainState& state, const NamedTensors& learned) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  void begin_burn_in(ChainState& state) const;

  AnyScaleOptions options_;
};

}  // namespace isinglass
