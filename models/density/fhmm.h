// Factorial hidden Markov model given its observations (Ghahramani & Jordan 1995), with normalised
// densities: U(x) = −log p(x) − log p(y | x).
//
// M independent chains of L steps have values 0 … n−1; site l·M + m is chain m at time l, so that
// states are [B, L·M].
//   P(x_{1,m} = 0) = p_init, and the other n − 1 values have equal shares of 1 − p_init
//   P(x_{l,m} = x_{l−1,m}) = p_stay, and the other values have equal shares of 1 − p_stay
//   y_l ~ N(Σ_m W_{m,x_{l,m}} + b, σ²)
// Let z be the one-hot form of x, r = y − Σ W z − b the residuals, a_k the cost (−log probability)
// of the first value k, and s and d the costs of staying and of changing. Then
//   U = Σ_m a·z_{1,m} + Σ_{l>1,m} [d − (d − s) z_{l,m}·z_{l−1,m}] + Σ_l [r_l²/2σ² + log(σ√2π)]
// For n = 2 the model is binary, with z = (1 − x, x). Parameter file: y [L], W [M, n], b, sigma,
// p_init, p_stay.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

struct FhmmParameters {
  torch::Tensor y;  // float [L]
  torch::Tensor w;  // float [M, n]
  double b, sigma, p_init, p_stay;
};

class FhmmModel : public EnergyModel, public HasConditionals, public HasEnergyDifferences {
 public:
  // Requires sigma > 0, and p_init and p_stay inside (0, 1).
  explicit FhmmModel(const FhmmParameters& parameters);

  std::string kind_name() const override { return "fhmm"; }
  StateSpace space() const override;
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;

 private:
  torch::Tensor one_hot(const torch::Tensor& x) const;         // float64 [B, L, M, n]
  torch::Tensor residual(const torch::Tensor& z) const;        // r [B, L]
  torch::Tensor prior_gradient(const torch::Tensor& z) const;  // gradient of −log p(x) in z
  torch::Tensor total(const torch::Tensor& z, const torch::Tensor& r) const;

  torch::Tensor y_, w_, b_, sigma_, first_, stay_, change_;  // float64
};

}  // namespace isinglass
