// Posterior of a logistic regression with binary coefficients β ∈ {0, 1}^D under a flat prior (Sun
// et al. 2023, "Any-scale balanced samplers", §B.4), for states β [B, D] and labels y_m ∈ {0, 1}:
//
//   U(β) = Σ_m softplus(−(2 y_m − 1) X_m·β)
//
// Parameter file: X [M, D], y [M].
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class LogisticModel : public EnergyModel, public HasEnergyDifferences {
 public:
  LogisticModel(const torch::Tensor& x, const torch::Tensor& y);

  std::string kind_name() const override { return "logistic"; }
  StateSpace space() const override { return {StateKind::kBinary, signed_.size(1), 2}; }
  FlopCounts flops() const override {
    return FlopCounts::of_network(2.0 * static_cast<double>(signed_.numel()), 0);
  }
  torch::Tensor energy(const torch::Tensor& beta) override;
  void evaluate(const torch::Tensor& beta, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& beta, Evaluation& out) override;

 private:
  torch::Tensor inputs(const torch::Tensor& beta) const;  // (1 − 2y) X β, float64 [B, M]

  torch::Tensor signed_;  // (1 − 2y) X, float64 [M, D]
};

}  // namespace isinglass
