// Restricted Boltzmann machine of binary units, hidden units summed out:
// U(v) = −b_v·v − Σ_h softplus(b_h + W_h·v). Parameter file: W [H, D], b_v [D], b_h [H].
//
// Products in float32, sums of energies in float64. An evaluation of states keeps the hidden inputs
// b_h + W_h·v in its cache, so that evaluate_moved() costs O(H) a moved unit (kernels/hidden.h),
// and O(D·H) for the gradient only.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class RbmModel : public EnergyModel, public HasEnergyDifferences {
 public:
  RbmModel(const torch::Tensor& w, const torch::Tensor& b_v, const torch::Tensor& b_h);

  // W ~ N(0, 0.01²), b_h = 0, b_v = 0 or the logit of base_mean [D] where defined. Draws from
  // LibTorch's generator.
  static std::shared_ptr<RbmModel> fresh(int64_t visible, int64_t hidden,
                                         const torch::Tensor& base_mean);

  std::string kind_name() const override { return "rbm"; }
  StateSpace space() const override { return {StateKind::kBinary, b_v_.size(0), 2}; }
  FlopCounts flops() const override {
    return FlopCounts::of_network(2.0 * static_cast<double>(w_.numel()), 0);
  }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;
  // O(D·H) a chain: the hidden inputs once, every visible unit's flip moves them by ±W_i.
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

  // A sweep of block Gibbs sampling, h ~ π(h | v) and v ~ π(v | h): uint8 [B, D] from uint8 [B, D].
  torch::Tensor gibbs_sweep(const torch::Tensor& v, const at::Generator& generator) const;

 private:
  torch::Tensor hidden_inputs(const torch::Tensor& v) const;  // b_h + W v, float32 [B, H]
  torch::Tensor free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const;
  // Of uint8 states; x undefined: no evaluation is known.
  void evaluate_states(const torch::Tensor& x, const torch::Tensor& inputs_at_x,
                       const torch::Tensor& y, bool gradient, Evaluation& out);
  const torch::Tensor& by_visible();

  torch::Tensor w_, b_v_, b_h_;  // float32
  torch::Tensor by_visible_;     // Wᵀ, contiguous, of version by_visible_version_ of w_
  int64_t by_visible_version_ = -1;
  torch::Tensor on_;  // σ(inputs) of the last evaluation, float32 [B, H]
};

}  // namespace isinglass
