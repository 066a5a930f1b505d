// Mixture of normal distributions of continuous sites: U(x) = −log Σ_c w_c N(x; m_c, P_c⁻¹) with
// normalised densities, for x [B, D]. Parameter file: weights w [C] that sum to 1, means m [C, D],
// precision P [C, D, D], or [C, D] for their diagonals. Computes in double precision.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class GaussianMixtureModel : public EnergyModel {
 public:
  GaussianMixtureModel(const torch::Tensor& weights, const torch::Tensor& means,
                       const torch::Tensor& precision);

  std::string kind_name() const override { return "gaussian-mixture"; }
  StateSpace space() const override { return {StateKind::kContinuous, means_.size(1)}; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  // Computes ∇U = Σ_c r_c P_c (x − m_c), where r_c is the posterior probability of component c.
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  struct Terms {
    torch::Tensor log_density;  // [C, B]: log w_c N(x; m_c, P_c⁻¹)
    torch::Tensor force;        // [C, B, D]: P_c (x − m_c)
  };
  Terms terms(const torch::Tensor& x) const;
  void evaluate_blocks(const torch::Tensor& x, bool gradient, Evaluation& out) const;

  // Hold the parameters, float64. log_scale_ [C] is log w_c N(m_c; m_c, P_c⁻¹), each component's
  // weighted log density at its mean.
  torch::Tensor means_, precision_, log_scale_;
};

}  // namespace isinglass
