// An RBM on the joint path from independent sites of logits l = logit m to itself: at inverse
// temperature β, one for all chains or one a chain, an RBM of weights βW and biases βb_h and
// βb_v + (1 − β) l:
//
//   F_β(v) = −v·(βb_v + (1 − β) l) − Σ_h softplus(β(b_h + W_h·v))
//
// so that block Gibbs sweeps serve at every β (kernels/rbm/rbm_gibbs.h). An evaluation of states
// keeps the hidden inputs b_h + W_h·v, which know nothing of β: a change of β costs the free
// energies alone, and no product.
#pragma once

#include "models/network/rbm.h"

namespace isinglass {

class AnnealedRbm : public EnergyModel, public HasSweeps {
 public:
  // logits: floating [D] or [D, K]. betas: how many there are, 1 or one a chain; they begin at 0.
  // The RBM outlives this object.
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
  // An evaluation at the states x, at the β that there is now.
  void recombine(const torch::Tensor& x, Evaluation& current) const;
  // From now on sweeps leave energies as they are, for a ladder's chains to have them with those on
  // the rungs beside (ops::energies_beside).
  void leave_energies() { energies_ = false; }
  void energies_beside(const torch::Tensor& rung_beta, const MeasuredPairs& measured,
                       const torch::Tensor& rng, const torch::Tensor& x, const Evaluation& current,
                       ops::RungChainTensors& at) const;

  // log Σ exp(−F_0): Σ_i softplus(l_i) + H log 2, of categorical sites logsumexp in place of
  // softplus.
  double log_z_start() const;

 private:
  RbmModel& rbm_;
  ops::PathTensors path_;
  bool energies_ = true;
};

}  // namespace isinglass
