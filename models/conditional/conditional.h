// A model given the values of some of its sites (fixed_sites.h): states are the free sites x_A,
//
//   π(x_A | x_B) ∝ exp(−U(x_A, x_B))
//
// so that no sampler ever proposes a change of a fixed site, and a step costs what the free sites
// cost. Energies are those of the whole state, with the constants that the fixed sites contribute.
//
// conditional_model() returns one of three forms:
//   a lattice   of the free sites, if all chains share the fixed values: a bond to a fixed site is
//               an energy of its free end. Samplers of lattices remain available.
//   an RBM      of the free visible units, if all chains share the fixed values: the fixed units
//               are part of the hidden biases.
//   otherwise   the model itself, which is evaluated at the whole state; of its gradient and
//               differences the free sites' are taken.
#pragma once

#include <memory>

#include "models/conditional/fixed_sites.h"
#include "models/wrapped_model.h"

namespace isinglass {

// The last form.
class ConditionalModel : public WrappedModel,
                         public HasConditionals,
                         public HasEnergyDifferences,
                         public HasSweeps {
 public:
  ConditionalModel(std::shared_ptr<EnergyModel> joint, FixedSites fixed);

  std::string title() const override;
  StateSpace space() const override { return fixed_.space(); }
  torch::Tensor base_mean() const override;

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;

  HasConditionals* conditionals() override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  void update_after_move(const torch::Tensor& x, Evaluation& current) override;

  // Where the joint model has no exact differences and chains differ in what is fixed, neighbours
  // are evaluated by differences_in_turn().
  HasEnergyDifferences* exact_differences() override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override;

  // An RBM has block Gibbs sweeps that draw the free units alone.
  HasSweeps* sweeps() override;
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;

 private:
  Evaluation joint_part(const Evaluation& known) const;
  torch::Tensor all_sites(ops::Scratch& scratch, const torch::Tensor& x, bool table);
  void take(const Evaluation& joint, Evaluation& out);

  FixedSites fixed_;
  ops::Scratch at_x_, at_y_;             // whole states, [B, D]
  ops::Scratch gradient_, differences_;  // of all sites, float32 [B, D] or [B, D, K]
  ops::Scratch before_;                  // float64 [B]
  torch::Tensor fixed_rows_;             // bool [N, D], for sweeps: true at fixed sites
  ops::Scratch held_;                    // the same of every chain, [B, D]
  ops::Scratch sites_;                   // of the latest conditional differences, int64 [B]
};

// Returns the model of the free sites. It is the joint model itself if nothing is fixed. `lasting`
// excludes the RBM of the free units, which does not notice when the joint model changes.
std::shared_ptr<EnergyModel> conditional_model(std::shared_ptr<EnergyModel> joint,
                                               const FixedSites& fixed, bool lasting = false);

}  // namespace isinglass
