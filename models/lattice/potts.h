// Potts model on any graph, for states x [B, D]; each edge e joins the sites i and j once:
//
//   U(x) = −Σ_i θ_{i,x_i} − Σ_e J_e δ(x_i, x_j)     coupling [E]
//   U(x) = −Σ_i θ_{i,x_i} − Σ_e J_e[x_i, x_j]       coupling [E, K, K], with i = edges[e, 0]
//
// The second form has a table of couplings for each edge, as in direct coupling analysis (Weigt et
// al. 2009, "Identification of direct residue contacts in protein-protein interaction by message
// passing"). Parameter file: edges int64 [E, 2], coupling [E] or [E, K, K] (J), field [D, K] (θ).
#pragma once

#include "models/lattice/lattice_model.h"

namespace isinglass {

class PottsModel : public LatticeModel {
 public:
  // Takes edges int64 [E, 2] within 0 … D − 1, coupling floating [E] or [E, K, K], and field
  // floating [D, K].
  PottsModel(const torch::Tensor& edges, const torch::Tensor& coupling, const torch::Tensor& field);

  std::string kind_name() const override { return "potts"; }
  StateSpace space() const override {
    return {StateKind::kCategorical, field_.size(0), field_.size(1)};
  }
  torch::Tensor energy(const torch::Tensor& x) override;

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  torch::Tensor pair_energy(const torch::Tensor& one_hot) const;  // Σ_e J_e(x_i, x_j), [B]

  torch::Tensor edges_, coupling_, field_;  // int64 [E, 2], float64 [E] or [E, K, K] and [D, K]
};

}  // namespace isinglass
