// Records the best solution of a graph problem that a run visits: the state with the largest
// objective, over all chains and steps including burn-in, that violates no constraint.
//
// On a GPU the states of several steps are kept on the device and examined together, so that the
// host does not wait at every step.
#pragma once

#include <limits>

#include "engine/run/run.h"
#include "io/pt/pt_file.h"
#include "models/lattice/graph_problem.h"

namespace isinglass {

class BestSolution : public Observer {
 public:
  // together: the number of steps examined at once; 0 selects one step on a CPU, and as many as fit
  // on a GPU.
  explicit BestSolution(GraphProblem& problem, const Ranks& ranks = Ranks::single_process(),
                        int64_t together = 0)
      : problem_(problem), ranks_(ranks), together_(together) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  void on_save() override { look_at_kept(); }
  void on_end() override;  // examines the remaining steps, then takes the best of all ranks

  // All ranks call saved() together, between steps and after on_save(); restore() is called on
  // every rank.
  PtDict saved() const;
  void restore(const PtDict& saved);

  const GraphProblem& problem() const { return problem_; }
  bool found() const { return best_.state.defined(); }
  double value() const { return best_.value; }
  torch::Tensor state() const { return best_.state; }  // uint8 [1, D], on the CPU
  // The step, counted from 1, after which the state was first seen.
  int64_t step() const { return best_.step; }
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
