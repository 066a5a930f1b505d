// Weighted assignments (Sun et al. 2022, "Path auxiliary proposal for MCMC in discrete space",
// equation 9): U(ρ) = Σ_i w_{i,ρ(i)} for permutations ρ of 0 … p − 1. States are int64 [B, p],
// neighbours differ by one swap. Parameter file: w [p, p].
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class PermutationModel : public EnergyModel, public HasEnergyDifferences {
 public:
  explicit PermutationModel(const torch::Tensor& w);  // floating [p, p]

  std::string kind_name() const override { return "permutation"; }
  StateSpace space() const override { return {StateKind::kPermutation, w_.size(0), w_.size(0)}; }
  bool differentiable() const override { return false; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

 private:
  torch::Tensor w_;     // float64 [p, p]
  torch::Tensor swap_;  // int64 [2, p(p−1)/2]: the pairs i < j, row by row
};

}  // namespace isinglass
