// Potts model on any graph: U(x) = −Σ_i θ_{i,x_i} − Σ_{e=(i,j)} J_e δ(x_i, x_j) for states x
// [B, D], each edge once. Parameter file: edges int64 [E, 2], coupling [E] (J), field [D, K] (θ).
#pragma once

#include "models/lattice/lattice_model.h"

namespace isinglass {

class PottsModel : public LatticeModel {
 public:
  // Takes edges int64 [E, 2] within 0 … D − 1, coupling floating [E] and field floating [D, K].
  PottsModel(const torch::Tensor& edges, const torch::Tensor& coupling, const torch::Tensor& field);

  std::string kind_name() const override { return "potts"; }
  StateSpace space() const override {
    return {StateKind::kCategorical, field_.size(0), field_.size(1)};
  }
  torch::Tensor energy(const torch::Tensor& x) override;

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  torch::Tensor edges_, coupling_, field_;  // int64 [E, 2], float64 [E], float64 [D, K]
};

}  // namespace isinglass
