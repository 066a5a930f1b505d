// Restricted Boltzmann machine, with the binary hidden units summed out:
//
//   U(v) = −b_v·v − Σ_h softplus(b_h + W_h·v)
//
// for v binary, uint8 [B, D], or the one-hot form of categorical units. Parameter file: W [H, D],
// b_v [D], b_h [H]; categorical: W [H, D, K], b_v [D, K], b_h [H].
//
// Products are computed in float32, sums of energies in float64. An evaluation of states keeps the
// hidden inputs b_h + W_h·v in its cache, and Gibbs sweeps start from them. For binary states
// evaluate_moved() costs O(H) per changed unit (kernels/rbm/free_energy.h), and O(D·H) only if the
// gradient is requested.
#pragma once

#include "kernels/ops/rbm.h"
#include "models/cached.h"
#include "models/energy_model.h"
#include "models/exact_samples.h"

namespace isinglass {

class RbmModel : public EnergyModel,
                 public HasEnergyDifferences,
                 public HasSweeps,
                 public HasExactSamples {
 public:
  RbmModel(const torch::Tensor& w, const torch::Tensor& b_v, const torch::Tensor& b_h);

  // Makes a new RBM: W ~ N(0, 0.01²), b_h = 0, and b_v = 0 or, if base_mean is defined, its
  // log-odds (base_mean [D]) or logarithms (categorical, base_mean [D, K]). Draws from LibTorch's
  // generator.
  static std::shared_ptr<RbmModel> fresh(int64_t visible, int64_t hidden, int64_t categories,
                                         const torch::Tensor& base_mean);

  std::string kind_name() const override { return "rbm"; }
  StateSpace space() const override;
  FlopCounts flops() const override {
    return FlopCounts::of_network(2.0 * static_cast<double>(w_.numel()), 0);
  }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;
  // Costs O(D·H) per chain and alternative value: the hidden inputs are computed once, and each
  // change shifts them by a row of W.
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

  // Returns E[h | v], float32 [B, H], for states uint8 [B, D].
  torch::Tensor hidden_means(const torch::Tensor& x) const;

  // Draws h ~ π(h | v), then v ~ π(v | h) (kernels/rbm/rbm_gibbs.h). A sweep takes two matrix
  // products; an energy takes one.
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // Makes such sweeps at points of the annealing path (models/network/annealed_rbm.h). If `energy`
  // is undefined, energies are not computed. Sites at which `held`, bool [B, D], is true keep their
  // values.
  int64_t sweep(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                torch::Tensor& x, torch::Tensor& inputs, const torch::Tensor& energy,
                ops::StepBuffers& counts, const ops::PathTensors& path,
                const torch::Tensor& held = {});
  const torch::Tensor& visible_biases() const { return b_v_; }  // [D] or [D, K]
  int64_t hidden() const { return b_h_.size(0); }
  torch::Tensor hidden_inputs(const torch::Tensor& v) const;  // b_h + W v, float32 [B, H]

  // Draws exact samples from an RBM with binary sites and at most 20 hidden units: h from its 2^H
  // probabilities, then v given h.
  bool has_exact_samples() const override;
  torch::Tensor exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const override;

 private:
  bool categorical() const { return w_.dim() == 3; }
  torch::Tensor visible(const torch::Tensor& x) const;  // [B, D], or flattened one-hot [B, D·K]
  torch::Tensor visible_inputs(const torch::Tensor& h) const;  // b_v + Wᵀ h, [B, D] or [B, D, K]
  torch::Tensor free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const;
  torch::Tensor flip_differences(const torch::Tensor& v, const torch::Tensor& inputs) const;
  torch::Tensor value_differences(const torch::Tensor& x, const torch::Tensor& inputs) const;
  // Returns true if evaluations at x can be updated from what changed, which is so for binary
  // states.
  bool moves_inputs(const torch::Tensor& x) const {
    return !categorical() && !x.is_floating_point();
  }
  // Stores the hidden inputs in the cache if x are states, not relaxed ones.
  void keep_inputs(const torch::Tensor& x, const torch::Tensor& inputs, Evaluation& out) const;
  // Evaluates binary states y by updating the hidden inputs at x; if x is undefined, no evaluation
  // is known and the inputs are computed from scratch.
  void evaluate_states(const torch::Tensor& x, const torch::Tensor& inputs_at_x,
                       const torch::Tensor& y, bool gradient, Evaluation& out);
  const torch::Tensor& by_visible();
  const ops::SweepTensors& sweep_weights();

  torch::Tensor w_, b_v_, b_h_;       // float32
  Cached<torch::Tensor> by_visible_;  // Wᵀ, contiguous
  ops::Scratch on_;                   // σ(inputs) of the last evaluation, float32 [B, H]
  Cached<ops::SweepTensors> sweep_weights_;
  ops::SweepScratch sweep_scratch_;
};

}  // namespace isinglass
