// RBM on the annealing path from independent sites with logits l = logit m to the RBM itself. At
// inverse temperature β, which is one for all chains or one per chain, it is an RBM with weights βW
// and biases βb_h and βb_v + (1 − β) l:
//
//   F_β(v) = −v·(βb_v + (1 − β) l) − Σ_h softplus(β(b_h + W_h·v))
//
// Block Gibbs sweeps therefore work at every β (kernels/rbm/rbm_gibbs.h). States v are uint8
// [B, D]. An evaluation caches the hidden inputs b_h + W_h·v, which do not depend on β: a change of
// β only requires new free energies and no matrix product.
#pragma once

#include "models/network/rbm.h"

namespace isinglass {

class AnnealedRbm : public EnergyModel, public HasSweeps {
 public:
  // Takes logits floating [D] or [D, K], and the number of inverse temperatures: 1, or one per
  // chain. They start at 0. The RBM has to outlive this object.
  AnnealedRbm(RbmModel& rbm, const torch::Tensor& logits, torch::Device device, int64_t betas = 1);

  std::string kind_name() const override { return rbm_.kind_name(); }
  std::string title() const override { return "the annealed energy of " + kind_name(); }
  StateSpace space() const override { return rbm_.space(); }
  FlopCounts flops() const override { return rbm_.flops(); }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;

  const torch::Tensor& beta() const { return path_.beta; }  // float64 [1] or [B], on the device
  void set_beta(double beta) { path_.beta.fill_(beta); }
  void set_beta(const torch::Tensor& beta) { path_.beta.copy_(beta); }
  // Recomputes the energies of an evaluation at the states x for the present β.
  void recombine(const torch::Tensor& x, Evaluation& current) const;
  // Makes later sweeps skip the energies. Parallel tempering computes them afterwards, together
  // with the energies at the adjacent temperatures (energies_at_adjacent_rungs()).
  void leave_energies() { energies_ = false; }
  // Computes the chains' energies at their own temperature and at the adjacent ones, for the pairs
  // of temperatures that the step measures (ops::energies_at_adjacent_rungs). rung_beta holds the
  // inverse temperatures of the ladder.
  void energies_at_adjacent_rungs(const torch::Tensor& rung_beta, const MeasuredPairs& measured,
                                  const torch::Tensor& rng, const torch::Tensor& x,
                                  const Evaluation& current, ops::RungChainTensors& at) const;

  // Returns log Σ_v exp(−F_0(v)) = Σ_i softplus(l_i) + H log 2; categorical sites have logsumexp in
  // place of softplus.
  double log_z_start() const;

 private:
  RbmModel& rbm_;
  ops::PathTensors path_;
  bool energies_ = true;
};

}  // namespace isinglass
