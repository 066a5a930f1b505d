// Independent sites of K values: U(x) = Σ_i θ_{i,x_i} for states x [B, D]. Parameter file: theta
// [D, K], 2 ≤ K ≤ 256.
#pragma once

#include "models/lattice/lattice_model.h"

namespace isinglass {

class CategoricalModel : public LatticeModel {
 public:
  explicit CategoricalModel(const torch::Tensor& theta);  // floating [D, K]

  std::string kind_name() const override { return "categorical"; }
  StateSpace space() const override {
    return {StateKind::kCategorical, theta_.size(0), theta_.size(1)};
  }
  torch::Tensor energy(const torch::Tensor& x) override;

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  torch::Tensor theta_;  // float64 [D, K]
};

}  // namespace isinglass
