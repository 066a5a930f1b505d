// Mixture of quartic wells on ordered values (Sun et al. 2023, "Any-scale balanced samplers", §B.5,
// with the shapes made consistent), for states x uint8 [B, D] of K values:
//   U(x) = −log Σ_c exp(−Σ_d (u_d + 1)(u_d² + ½)(u_d − 2)),   u = R ((x − b_c) ⊘ s)
// Parameter file: centers b [C, D], scale s [D], rotation R [D, D] orthogonal; and `categories` K.
// The gradient is computed by autograd.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class QuarticMixtureModel : public EnergyModel {
 public:
  QuarticMixtureModel(const torch::Tensor& centers, const torch::Tensor& scale,
                      const torch::Tensor& rotation, int64_t categories);

  std::string kind_name() const override { return "quartic-mixture"; }
  StateSpace space() const override { return {StateKind::kOrdered, scale_.size(0), categories_}; }
  FlopCounts flops() const override {
    return FlopCounts::of_network(2.0 * static_cast<double>(centers_.size(0) * rotation_.numel()),
                                  0);
  }
  torch::Tensor energy(const torch::Tensor& x) override;

 private:
  torch::Tensor centers_, scale_, rotation_;  // float64
  int64_t categories_;
};

}  // namespace isinglass
