// Gaussian restricted to the integer lattice {0 … K−1}^D of ordered values (Sun et al. 2023,
// "Any-scale balanced samplers", §B.3), for states x uint8 [B, D]: U(x) = ½ (x − b)ᵀ P (x − b),
// with P symmetric positive definite. Parameter file: precision [D, D], mean [D] (b); and
// `categories` K.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class LatticeGaussianModel : public EnergyModel,
                             public HasConditionals,
                             public HasEnergyDifferences {
 public:
  LatticeGaussianModel(const torch::Tensor& precision, const torch::Tensor& mean,
                       int64_t categories);

  std::string kind_name() const override { return "lattice-gaussian"; }
  StateSpace space() const override { return {StateKind::kOrdered, mean_.size(0), categories_}; }
  FlopCounts flops() const override {
    return FlopCounts::of_network(2.0 * static_cast<double>(precision_.numel()), 0);
  }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;

 private:
  torch::Tensor precision_, mean_;  // float64
  int64_t categories_;
};

}  // namespace isinglass
