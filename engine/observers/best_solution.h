// The best solution of a graph problem that a run passes: the state of largest objective among all
// chains and steps, burn-in included, that violates no constraint.
//
// On a GPU some steps are kept there and looked at together, so that the host does not wait for
// each.
#pragma once

#include <limits>

#include "engine/run/run.h"
#include "models/lattice/graph_problem.h"

namespace isinglass {

class BestSolution : public Observer {
 public:
  // together: how many steps are looked at at once; 0: one on a CPU, and on a GPU as many as fit.
  explicit BestSolution(GraphProblem& problem, const Ranks& ranks = Ranks::alone(),
                        int64_t together = 0)
      : problem_(problem), ranks_(ranks), together_(together) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  void on_end() override;  // what is not looked at yet; the best of all ranks

  const GraphProblem& problem() const { return problem_; }
  bool found() const { return state_.defined(); }
  double value() const { return value_; }
  torch::Tensor state() const { return state_; }  // uint8 [1, D], on the CPU
  int64_t step() const { return step_; }          // after which it was first seen, from 1
  int64_t chain() const { return chain_; }

 private:
  double needed() const;
  void look(const torch::Tensor& x, const torch::Tensor& energy);
  void look_at_kept();

  GraphProblem& problem_;
  const Ranks& ranks_;
  int64_t together_, waiting_ = 0;
  torch::Tensor kept_x_, kept_energy_;  // [together, B, D] and [together, B]
  torch::Tensor chain_ids_;
  double value_ = -std::numeric_limits<double>::infinity();
  torch::Tensor state_;
  int64_t steps_ = 0, step_ = 0, chain_ = 0;
};

}  // namespace isinglass
