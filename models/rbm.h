// Restricted Boltzmann machine of binary units, hidden units summed out:
// U(v) = −b_v·v − Σ_h softplus(b_h + W_h·v). Parameter file: W [H, D], b_v [D], b_h [H].
//
// Products in float32, sums of energies in float64.
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
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  // O(D·H) a chain: the hidden inputs once, every visible unit's flip moves them by ±W_i.
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

  // A sweep of block Gibbs sampling, h ~ π(h | v) and v ~ π(v | h): uint8 [B, D] from uint8 [B, D].
  torch::Tensor gibbs_sweep(const torch::Tensor& v, const at::Generator& generator) const;

 private:
  torch::Tensor hidden_inputs(const torch::Tensor& v) const;  // b_h + W v, float32 [B, H]
  torch::Tensor free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const;

  torch::Tensor w_, b_v_, b_h_;  // float32
};

}  // namespace isinglass
