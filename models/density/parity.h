// Parity of binary sites (Sun et al. 2022, "Path auxiliary proposal for MCMC in discrete space",
// figure 1): U(x) = u·(Σ_i x_i mod 2). Every single flip changes the parity, so that all flips of a
// state have the same difference ±u, and gradients carry no information. Parameter file: u, a
// number (0-dimensional); and `sites` D.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class ParityModel : public EnergyModel, public HasEnergyDifferences {
 public:
  ParityModel(const torch::Tensor& u, int64_t sites);  // u floating []

  std::string kind_name() const override { return "parity"; }
  StateSpace space() const override { return {StateKind::kBinary, sites_, 2}; }
  bool differentiable() const override { return false; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;

 private:
  torch::Tensor u_;  // float64 []
  int64_t sites_;
};

}  // namespace isinglass
