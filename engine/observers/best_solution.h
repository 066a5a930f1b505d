// The best solution of a graph problem that a run passes: the state of largest objective among all
// chains and steps, burn-in included, that violates no constraint.
#pragma once

#include <limits>

#include "engine/run/run.h"
#include "models/lattice/graph_problem.h"

namespace isinglass {

class BestSolution : public Observer {
 public:
  explicit BestSolution(GraphProblem& problem, const Ranks& ranks = Ranks::alone())
      : problem_(problem), ranks_(ranks) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  void on_end() override;  // the best of all ranks

  const GraphProblem& problem() const { return problem_; }
  bool found() const { return state_.defined(); }
  double value() const { return value_; }
  torch::Tensor state() const { return state_; }  // uint8 [1, D], on the CPU
  int64_t step() const { return step_; }          // after which it was first seen, from 1
  int64_t chain() const { return chain_; }

 private:
  GraphProblem& problem_;
  const Ranks& ranks_;
  double value_ = -std::numeric_limits<double>::infinity();
  torch::Tensor state_;
  int64_t steps_ = 0, step_ = 0, chain_ = 0;
};

}  // namespace isinglass
