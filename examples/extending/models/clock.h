// Clock model on a ring: U(x) = −Σ_i J_i cos(2π (x_i − x_{i+1}) / K), x_i ∈ {0 … K − 1}, where the
// last site is followed by the first. Parameter file: coupling [D] (J); and --categories K.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class ClockModel : public EnergyModel {
 public:
  ClockModel(const torch::Tensor& coupling, int64_t categories);

  std::string kind_name() const override { return "clock"; }
  StateSpace space() const override {
    return {StateKind::kCategorical, coupling_.size(0), alignment_.size(0)};
  }
  torch::Tensor energy(const torch::Tensor& x) override;

 private:
  torch::Tensor coupling_, alignment_;  // float64 [D]; float64 [K, K]: cos(2π (k − l) / K)
};

}  // namespace isinglass
