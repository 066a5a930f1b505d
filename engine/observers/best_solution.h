// Records the best state that a run visits, over all chains and steps including burn-in, and how
// many chains reached it, each after which step. On a graph problem the best state is the solution
// with the largest objective that violates no constraint; on any other target it is the state of
// least energy. The value that is maximised is the objective, or −U.
//
// On a GPU the states of several steps are kept on the device and examined together, so that the
// host does not wait at every step.
//
// Energies of one state differ by rounding, according to how a chain reached it
// (engine/diagnostics/ties.h). Values closer than rounding · max(|best|, median |U| of random
// states) count as equal. Values are compared as the chains have them, in resumed runs as well; the
// best state's value that users see is computed from the state alone at the end.
#pragma once

#include <limits>
#include <vector>

#include "engine/context.h"
#include "engine/run/observer.h"
#include "io/pt/pt_file.h"
#include "models/lattice/graph_problem.h"

namespace isinglass {

class BestSolution : public Observer {
 public:
  // The model is that of whole states. together: the number of steps examined at once; 0 selects
  // one step on a CPU, and as many as fit on a GPU.
  explicit BestSolution(EnergyModel& model, const Ranks& ranks = Ranks::single_process(),
                        int64_t together = 0);

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  void on_save() override { look_at_kept(); }
  void on_end() override;  // examines the remaining steps, then takes the best of all ranks

  // All ranks call saved() together, between steps and after on_save(). restore() is called on
  // every rank, with its share of the chains.
  PtDict saved() const;
  void restore(const PtDict& saved, const Shard& own);

  // Returns the problem, or null if the value is −U.
  const GraphProblem* problem() const { return problem_; }
  // Returns true if users see −value, an energy that the run minimises.
  bool minimises() const { return !problem_ || problem_->minimises(); }
  bool found() const { return best_.state.defined(); }
  // Returns the value that the chain had, and after on_end() the value of the state alone.
  double value() const { return best_.value + correction_; }
  torch::Tensor state() const { return best_.state; }  // uint8 [1, D], on the CPU
  // The step, counted from 1, after which the state was first seen.
  int64_t step() const { return best_.step; }
  int64_t chain() const { return best_.chain; }

  // Says how many chains of all ranks reached a value, and the mean of the steps, counted from 1,
  // after which they did so first; NaN if none did. Valid after on_end(), for the best value or a
  // better one. With group > 1, groups of so many consecutive chains are counted in place of
  // chains; a group reaches a value with the first of its chains.
  struct Reached {
    int64_t chains = 0;
    double mean_step = std::numeric_limits<double>::quiet_NaN();
  };
  Reached reached(double value, int64_t group = 1) const;
  // Returns by how much values of one state may differ.
  double rounding_at(double value) const;

 private:
  struct Best {
    double value = -std::numeric_limits<double>::infinity();
    torch::Tensor state = {};
    int64_t step = 0, chain = 0;
  };

  Best of_all() const;
  void look(const torch::Tensor& x, const torch::Tensor& energy);
  void look_at_step(const torch::Tensor& x, const double* energy, int64_t step);
  void look_at_kept();
  void keep_feasible(const torch::Tensor& x, std::vector<int64_t>& rows,
                     std::vector<double>& values) const;
  double value_of_state() const;

  EnergyModel& model_;
  GraphProblem* problem_;  // null: the value is −U
  bool constrained_;       // true if the value may differ from −U
  const Ranks& ranks_;
  double rounding_ = 0, scale_ = 0;
  double correction_ = 0;  // what value() adds to the value that the chain had
  int64_t together_, waiting_ = 0;
  torch::Tensor kept_x_, kept_energy_;  // [together, B, D] and [together, B]
  torch::Tensor chain_ids_;
  Best best_;
  // Each chain's value when it last reached what was the best one then, and the step; of this
  // rank's chains, and after on_end() of all.
  std::vector<double> value_;
  std::vector<int64_t> step_;
  int64_t steps_ = 0;
};

}  // namespace isinglass
