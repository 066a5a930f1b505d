// Samplers of continuous states by Hamiltonian trajectories (docs/concepts/samplers.md;
// kernels/hamiltonian/leapfrog.h).
//
//   p ~ N(0, m I) (with damping γ: p ← γ p + √(1 − γ²) √m ξ, and −p after a refusal), then L
//   leapfrog steps of size η to (y, p′);  ratio = H(x, p) − H(y, p′),  H = U + ½‖p‖²/m
//
//   hmc:   Duane, Kennedy, Pendleton & Roweth 1987, "Hybrid Monte Carlo"
//   mala:  L = 1, which is y = x − (η²/2)∇U(x) + ηξ (Roberts & Tweedie 1996)
//   uhmc, ula: the same two without the test; they do not leave π invariant
//   fhl:   "Follow Hamiltonian Leader": groups of n particles, each pulled to the one of least U by
//          ρ_i (x_i − x_l), ρ_i = λ tanh((U_i − U_l)/2); the sum of the group's ratios accepts it
//          whole. Exact for the product of n copies of π: the pull depends on positions alone and
//          is no part of H. (Algorithm 2 of the paper prints the ratio with the other sign.)
//
// Without a pull particles are alone: fhl with λ = 0 or n = 1 is hmc. `elastic-energy` adds the
// elastic energy ½ Σ_i ρ_i ‖x_i − x_l‖² to H (eq. 4), whose law is not π; `always-accept` leaves
// out the test. One model call a leapfrog step. U is the energy's; its gradient may be another's.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

struct HamiltonianOptions {
  int64_t leapfrog = 1;  // L
  double mass = 1;       // m
  double damping = 0;    // γ
  bool unadjusted = false;
  int64_t group = 1;  // n
  double pull = 0;    // λ
  bool elastic_energy = false;
};

class HamiltonianSampler : public Sampler {
 public:
  HamiltonianSampler(const HamiltonianOptions& options, Scale step_size);

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {step_size_}; }
  bool exact() const override { return !options_.unadjusted && !options_.elastic_energy; }
  bool couples() const override { return options_.group > 1; }

  // The two halves of a step before its test: new momenta; the trajectory from the state and the
  // momenta to workspace.y, with all that the test reads.
  void refresh(ChainState& state, const StepParams& params) const;
  void integrate(EnergyModel& model, ChainState& state, const StepParams& params) const;

  static torch::Tensor& momentum(ChainState& state);  // float64 [B, D]

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void renew_kept(const EnergyModel& model, ChainState& state) const override;

 private:
  HamiltonianOptions options_;
  Scale step_size_;
};

}  // namespace isinglass
