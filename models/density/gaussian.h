// Normal distribution of continuous sites: U(x) = ½ (x − m)ᵀ P (x − m), for x [B, D]. Parameter
// file: mean m [D], precision P [D, D], or [D] for its diagonal. Computes in double precision.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class GaussianModel : public EnergyModel {
 public:
  GaussianModel(const torch::Tensor& mean, const torch::Tensor& precision);

  std::string kind_name() const override { return "gaussian"; }
  StateSpace space() const override { return {StateKind::kContinuous, mean_.size(0)}; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;  // ∇U = P (x − m)

 private:
  torch::Tensor mean_, precision_;  // float64
};

}  // namespace isinglass
