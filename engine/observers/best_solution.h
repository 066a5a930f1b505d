// The best solution of a graph problem that a run passes: the state of largest objective among all
// chains and steps, burn-in included, that violates no constraint.
//
// On a GPU some steps are kept there and looked at together, so that the host does not wait for
// each.
#pragma once

#include <limits>

#include "engine/run/run.h"
#include "io/pt/pt_file.h"
#include "models/lattice/graph_problem.h"

namespace isinglass {

class BestSolution : public Observer {
 public:
  // together: how many steps are looked at at once; 0: one on a CPU, and on a GPU as many as fit.
  explicit BestSolution(GraphProblem& problem, const Ranks& ranks = Ranks::alone(),
                        int64_t together = 0)
      : problem_(problem), ranks_(ranks), together_(together) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  void on_save() override { look_at_kept(); }
  void on_end() override;  // what is not looked at yet; the best of all ranks

  // By all ranks together, between steps, after on_save(); and back, on every rank.
  PtDict saved() const;
  void restore(const PtDict& saved);

  const GraphProblem& problem() const { return problem_; }
  bool found() const { return best_.state.defined(); }
  double value() const { return best_.value; }
  torch::Tensor state() const { return best_.state; }  // uint8 [1, D], on the CPU
  int64_t step() const { return best_.step; }          // after which it was first seen, from 1
  int64_t chain() const { return best_.chain; }

 private:
  struct Best {
    double value = -std::numeric_limits<double>::infinity();
    torch::Tensor state = {};
    int64_t step = 0, chain = 0;
  };

  Best of_all() const;
  double needed() const;
  void look(const torch::Tensor& x, const torch::Tensor& energy);
  void look_at_kept();

  GraphProblem& problem_;
  const Ranks& ranks_;
  int64_t together_, waiting_ = 0;
  torch::Tensor kept_x_, kept_energy_;  // [together, B, D] and [together, B]
  torch::Tensor chain_ids_;
  Best best_;
  int64_t steps_ = 0;
};

}  // namespace isinglass
