// Restricted Boltzmann machine, binary hidden units summed out:
// U(v) = −b_v·v − Σ_h softplus(b_h + W_h·v), v binary, or the one-hot form of categorical units.
// Parameter file: W [H, D], b_v [D], b_h [H]; categorical: W [H, D, K], b_v [D, K], b_h [H].
//
// Products in float32, sums of energies in float64. An evaluation of states keeps the hidden inputs
// b_h + W_h·v in its cache: of binary states evaluate_moved() costs O(H) a moved unit
// (kernels/rbm/free_energy.h), and O(D·H) for the gradient only; Gibbs sweeps begin from them.
#pragma once

#include "kernels/ops/rbm.h"
#include "models/derived.h"
#include "models/energy_model.h"
#include "models/exact_samples.h"

namespace isinglass {

class RbmModel : public EnergyModel,
                 public HasEnergyDifferences,
                 public HasSweeps,
                 public HasExactSamples {
 public:
  RbmModel(const torch::Tensor& w, const torch::Tensor& b_v, const torch::Tensor& b_h);

  // W ~ N(0, 0.01²), b_h = 0, b_v = 0 or the log-odds of base_mean [D] where defined; of categories
  // log base_mean [D, K]. Draws from LibTorch's generator.
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
  // O(D·H) a chain and other value: the hidden inputs once, every change moves them by a row of W.
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

  // E[h | v], float32 [B, H], of states uint8 [B, D].
  torch::Tensor hidden_means(const torch::Tensor& x) const;

  // h ~ π(h | v) and v ~ π(v | h) (kernels/rbm/rbm_gibbs.h). Two products; an energy takes one.
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // The same at points of the joint path (models/network/annealed_rbm.h); energy undefined: it is not
  // wanted.
  int64_t sweep(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                torch::Tensor& x, torch::Tensor& inputs, const torch::Tensor& energy,
                ops::StepBuffers& counts, const ops::PathTensors& path);
  const torch::Tensor& visible_biases() const { return b_v_; }  // [D] or [D, K]
  int64_t hidden() const { return b_h_.size(0); }
  torch::Tensor hidden_inputs(const torch::Tensor& v) const;  // b_h + W v, float32 [B, H]

  // Of at most 20 hidden units and binary sites: h by its 2^H probabilities, then v given h.
  bool has_exact_samples() const override;
  torch::Tensor exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const override;

 private:
  bool categorical() const { return w_.dim() == 3; }
  torch::Tensor visible(const torch::Tensor& x) const;         // [B, D] or flat one-hot [B, D·K]
  torch::Tensor visible_inputs(const torch::Tensor& h) const;  // b_v + Wᵀ h, as W and b_v are
  torch::Tensor free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const;
  torch::Tensor flip_differences(const torch::Tensor& v, const torch::Tensor& inputs) const;
  torch::Tensor value_differences(const torch::Tensor& x, const torch::Tensor& inputs) const;
  // Whether evaluations at x go by what moved: those of binary states.
  bool moves_inputs(const torch::Tensor& x) const {
    return !categorical() && !x.is_floating_point();
  }
  // Keeps the hidden inputs of states.
  void keep_inputs(const torch::Tensor& x, const torch::Tensor& inputs, Evaluation& out) const;
  // Of such states; x undefined: no evaluation is known.
  void evaluate_states(const torch::Tensor& x, const torch::Tensor& inputs_at_x,
                       const torch::Tensor& y, bool gradient, Evaluation& out);
  const torch::Tensor& by_visible();
  const ops::SweepTensors& sweep_weights();

  torch::Tensor w_, b_v_, b_h_;        // float32
  Derived<torch::Tensor> by_visible_;  // Wᵀ, contiguous
  ops::Scratch on_;                    // σ(inputs) of the last evaluation, float32 [B, H]
  Derived<ops::SweepTensors> sweep_weights_;
  ops::SweepScratch sweep_scratch_;
};

}  // namespace isinglass
