// Quadratic functions of binary variables (QUBO) or of spins (Ising) as target distributions and as
// problems whose least energy is sought. A state is x ∈ {0,1}^D, uint8 [B, D], and
//
//   qubo   U(x) = offset + Σ_i a_i x_i + Σ_{e=(i,j)} w_e x_i x_j
//   ising  U(x) = offset + Σ_i a_i s_i + Σ_{e=(i,j)} w_e s_i s_j,  s = 2x − 1
//
// The energy is that of the file or tensors, with its offset, and is computed in float64. The
// models are lattices (kernels/lattice/lattice.h), by x_i x_j = (δ(x_i, x_j) + x_i + x_j − 1)/2 and
// s_i s_j = 2δ(x_i, x_j) − 1.
#pragma once

#include "models/lattice/graph_problem.h"
#include "models/lattice/quadratic_file.h"

namespace isinglass {

class QuadraticModel : public GraphProblem {
 public:
  explicit QuadraticModel(const Quadratic& function);

  std::string kind_name() const override { return kind_ == Variables::kSpin ? "ising" : "qubo"; }
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor objective(const torch::Tensor& x) override { return -energy(x); }
  torch::Tensor violations(const torch::Tensor& x) override;
  bool minimises() const override { return true; }
  // Returns how the text was read; empty unless the function was read from one.
  const std::optional<QuadraticReading>& quadratic_reading() const { return reading_; }

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  Variables kind_;
  torch::Tensor linear_, offset_;  // float64 [D] and []
  std::optional<QuadraticReading> reading_;
};

}  // namespace isinglass
