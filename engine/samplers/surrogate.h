// Surrogate transitions (Liu 2001, "Monte Carlo strategies in scientific computing", §9.4.3;
// docs/concepts/residual.md) of a model U = U_base + g on a base (models/on_base.h):
//
//   y ~ k steps from x that leave exp(−U_base) invariant and are reversible together
//   ratio = g(x) − g(y), computed as U(x) − U(y) − U_base(x) + U_base(y)
//
// On the path U_base + β g from the base to the model the same ratio is β (g(x) − g(y)). A move
// costs one evaluation of the network, without its gradient unless the chains need one.
//
// The steps of the base are
//
//   rbm        block sweeps, h ~ π(h | v) and v ~ π(v | h), which are reversible in v
//   lattice    sweeps by colours: k forwards and then k backwards, a palindrome. Sites without
//              edges are one colour, whose sweeps are exact draws; these run forwards alone
//   otherwise  steps of pafs, or of gibbs at a random site if the base has no gradient
//
// A move draws with keys of its own (kernels/random/streams.h), because its steps have the same
// purposes as those of a sampler beside it.
#pragma once

#include <memory>

#include "engine/sampler.h"
#include "models/on_base.h"

namespace isinglass {

// Makes surrogate transitions of the chains of any sampler, between its steps.
class SurrogateTransition {
 public:
  // A call of move() makes `moves` moves, each with `sweeps` sweeps of the base.
  SurrogateTransition(int64_t moves, int64_t sweeps) : moves_(moves), sweeps_(sweeps) {}

  // Returns the buffers for chains whose evaluation exists. Throws Error if the model has no base.
  std::shared_ptr<SamplerScratch> prepare(const EnergyModel& model, const ChainState& state) const;

  // Makes the moves, which use the step number of params.rng, and counts them. `needs` says what is
  // evaluated at the chains' states and at the proposals. Returns the model calls per chain.
  int64_t move(EnergyModel& model, ChainState& state, const StepParams& params, Needs needs,
               SamplerScratch& scratch, ops::StepBuffers& counts) const;

  int64_t moves() const { return moves_; }
  bool captures(const EnergyModel& model) const;

 private:
  int64_t moves_, sweeps_;
};

// The sampler `surrogate`: a step is one such move.
class SurrogateSampler : public Sampler {
 public:
  explicit SurrogateSampler(int64_t sweeps) : transition_(1, sweeps) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  bool captures(const EnergyModel& model) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  SurrogateTransition transition_;
};

}  // namespace isinglass
