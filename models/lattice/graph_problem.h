// Combinatorial problems on a graph as target distributions. A state x ∈ {0,1}^n, uint8 [B, n],
// selects vertices, and
//
//   U(x) = penalty · violations(x) − objective(x)
//   maxcut     objective Σ_{e=(u,v)} w_e [x_u ≠ x_v]; every state is feasible
//   mis        maximum independent set: objective Σ_i x_i, violations Σ_{(u,v) ∈ E} x_u x_v
//   maxclique  maximum clique, which is a maximum independent set of the complement graph
//
// With a penalty above 1 every local minimum of U is feasible: removing one end of a violated edge
// loses 1 of the objective and removes at least one violation. U is quadratic, so that the models
// are lattices (kernels/lattice/lattice.h), by the identities
//
//   [x_u ≠ x_v] = 1 − δ(x_u, x_v)   and   x_u x_v = (δ(x_u, x_v) + x_u + x_v − 1)/2
#pragma once

#include "models/lattice/graph_file.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

class GraphProblem : public LatticeModel {
 public:
  explicit GraphProblem(const Graph& graph);

  StateSpace space() const override { return {StateKind::kBinary, vertices_, 2}; }
  torch::Tensor energy(const torch::Tensor& x) override;

  // Return the two terms of U for states or relaxed states, float64 [B]. A state is a solution if
  // it has no violations.
  virtual torch::Tensor objective(const torch::Tensor& x) = 0;
  virtual torch::Tensor violations(const torch::Tensor& x) = 0;

  virtual double penalty() const { return 0; }  // 0 if there are no constraints
  // Returns true if the problem minimises: the value of a solution is then −objective.
  virtual bool minimises() const { return false; }
  std::optional<double> optimum() const {
    return optimum_;
  }  // the best value, if the file or the instance gives it
  const std::optional<GraphReading>& reading() const { return reading_; }  // how the file was read

 protected:
  // Returns x_u and x_v for every edge, float64 [B, E].
  std::pair<torch::Tensor, torch::Tensor> ends(const torch::Tensor& x) const;

  int64_t vertices_;
  torch::Tensor edges_, weight_;  // int64 [E, 2], float64 [E]

 private:
  std::optional<double> optimum_;
  std::optional<GraphReading> reading_;
};

class MaxCutModel : public GraphProblem {
 public:
  using GraphProblem::GraphProblem;

  std::string kind_name() const override { return "maxcut"; }
  torch::Tensor objective(const torch::Tensor& x) override;
  torch::Tensor violations(const torch::Tensor& x) override;

 protected:
  ops::LatticeTensors make_lattice() const override;
};

class IndependentSetModel : public GraphProblem {
 public:
  // Models the problem `name`, which is mis or maxclique.
  IndependentSetModel(std::string name, const Graph& graph, double penalty)
      : GraphProblem(graph), name_(std::move(name)), penalty_(penalty) {
    register_buffer("penalty", torch::tensor(penalty, torch::kFloat64));
  }

  std::string kind_name() const override { return name_; }
  torch::Tensor objective(const torch::Tensor& x) override;
  torch::Tensor violations(const torch::Tensor& x) override;
  double penalty() const override { return penalty_; }

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  std::string name_;
  double penalty_;
};

}  // namespace isinglass
