// Samplers of continuous states by Hamiltonian trajectories (docs/concepts/samplers.md;
// kernels/hamiltonian/leapfrog.h).
//
// A step draws a momentum p ~ N(0, m I) and proposes the end (y, p′) of L leapfrog steps of size η.
// With damping γ it keeps part of the last momentum instead, p ← γ p + √(1 − γ²) √m ξ, and
// continues with −p after a rejection.
//
//   ratio = H(x, p) − H(y, p′),  H = U + ½‖p‖²/m
//
//   hmc:   Duane, Kennedy, Pendleton & Roweth 1987, "Hybrid Monte Carlo"
//   mala:  L = 1, which is y = x − (η²/2)∇U(x) + ηξ (Roberts & Tweedie 1996)
//   uhmc, ula: the same two without the Metropolis test; they do not leave π invariant
//   fhl:   "Follow Hamiltonian Leader", algorithms 1 and 2. In groups of n particles, each is
//          pulled towards the particle l of least U by the force ρ_i (x_i − x_l), with
//          ρ_i = λ tanh((U_i − U_l)/2). The sum of the group's ratios accepts or rejects the whole
//          group. (Algorithm 2 of the paper prints the ratio with the opposite sign.)
//
// hmc, mala and fhl are exact. fhl leaves the product of n copies of π invariant, because the pull
// depends on positions alone and is no part of H; with λ = 0 or n = 1 it is hmc. Two options make a
// sampler inexact: `elastic-energy` adds the elastic energy ½ Σ_i ρ_i ‖x_i − x_l‖² to H (eq. 4),
// whose distribution is not π, and `always-accept` omits the test.
//
// A leapfrog step costs one model call. The gradient may come from another model than the energy U
// of the test.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

struct HamiltonianOptions {
  int64_t leapfrog = 1;  // L, leapfrog steps per trajectory
  double mass = 1;       // m, mass of the particles
  double damping = 0;    // γ, fraction of the momentum that a step keeps
  bool unadjusted = false;
  int64_t group = 1;  // n, particles per group
  double pull = 0;    // λ, strength of the pull
  bool elastic_energy = false;
};

class HamiltonianSampler : public Sampler {
 public:
  HamiltonianSampler(const HamiltonianOptions& options, Scale step_size);

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {step_size_}; }
  bool exact() const override { return !options_.unadjusted && !options_.elastic_energy; }
  bool is_interacting() const override { return options_.group > 1; }

  // The two halves of a step before its Metropolis test. refresh() draws new momenta. integrate()
  // computes the trajectory from the state and the momenta to workspace.y, with everything that the
  // test reads.
  void refresh(ChainState& state, const StepParams& params) const;
  void integrate(EnergyModel& model, ChainState& state, const StepParams& params) const;

  static torch::Tensor& momentum(ChainState& state);  // float64 [B, D]

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void refresh_cache(const EnergyModel& model, ChainState& state) const override;

 private:
  HamiltonianOptions options_;
  Scale step_size_;
};

}  // namespace isinglass
