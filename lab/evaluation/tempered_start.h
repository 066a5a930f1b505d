// States at β = 1 of parallel tempering (tempered_estimate.h), where the reverse chains of an annealing
// start: one ensemble for ten chains, of which as many states as that takes are kept, evenly apart.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/evaluation/tempered_estimate.h"

namespace isinglass {

class TemperedStart {
 public:
  // Of a resolved spec, with chains from the given number on; half as many scans as temperatures, and
  // at least some, after half as many of burn-in. Model and start outlive this. Throws Error for what
  // cannot be tempered.
  TemperedStart(const EvaluateSpec& spec, EnergyModel& model, const Factorised& start,
                int64_t temperatures, int64_t first_chain, const Context& context);

  // To the end, or until stop() is true; on_step after every scan. Returns whether it is finished.
  bool run(const std::function<void()>& on_step, const std::function<bool()>& stop);
  bool finished() const { return states_.defined(); }
  int64_t steps_done() const { return finished() ? steps_ : ladder_->steps_done(); }
  int64_t steps_total() const { return steps_; }

  PtDict checkpoint() const;
  void restore(const PtDict& checkpoint);

  // Once it is finished: [chains, D] on the CPU, and R̂ of the energies between ensembles.
  const torch::Tensor& states() const { return states_; }
  double rhat() const { return rhat_; }
  double round_trips() const { return round_trips_; }  // of all ensembles
  int64_t energy_evaluations() const { return evaluations_; }
  nlohmann::ordered_json json() const;  // {steps, rungs, round_trips}

 private:
  int64_t chains_, steps_;
  std::unique_ptr<ParallelTempering> tempering_;
  std::unique_ptr<TemperedEstimate> ladder_;  // null: finished
  torch::Tensor states_;
  double rhat_ = 0, round_trips_ = 0;
  int64_t rungs_ = 0, evaluations_ = 0;
};

}  // namespace isinglass
