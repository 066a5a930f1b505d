// Ising model on any graph: U(x) = −Σ_i h_i z_i − Σ_{e=(i,j)} J_e z_i z_j with z = 2x − 1 ∈
// {−1, +1} for states x [B, D], each edge once. Parameter file: edges int64 [E, 2], coupling [E]
// (J), field [D] (h).
#pragma once

#include "models/cached.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

class IsingModel : public LatticeModel {
 public:
  // Takes edges int64 [E, 2] within 0 … D − 1, coupling floating [E] and field floating [D].
  // Couplings are trainable parameters, and so are fields if learns_field is true.
  IsingModel(const torch::Tensor& edges, const torch::Tensor& coupling, const torch::Tensor& field,
             bool learns_field = true);

  std::string kind_name() const override { return "ising"; }
  StateSpace space() const override { return {StateKind::kBinary, field_.size(0), 2}; }
  torch::Tensor energy(const torch::Tensor& x) override;

  const torch::Tensor& edges() const { return edges_; }        // int64 [E, 2]
  const torch::Tensor& coupling() const { return coupling_; }  // J, float64 [E]

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  torch::Tensor pair_energy(const torch::Tensor& z) const;  // Σ_e J_e z_i z_j, [B]

  torch::Tensor edges_, coupling_, field_;  // int64 [E, 2], float64 [E], float64 [D]
  mutable Cached<LatticeGraph> graph_;      // adjacency of edges_
};

}  // namespace isinglass
