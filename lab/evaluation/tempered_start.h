// Provides the states at β = 1 from which the reverse chains of an annealing start, by parallel
// tempering (tempered_estimate.h). There is one ensemble for every ten chains, and each keeps as
// many evenly spaced states as the chains need.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/evaluation/tempered_estimate.h"

namespace isinglass {

class TemperedStart {
 public:
  // Takes a resolved spec and the global number of the first chain. Makes half as many scans as
  // there are temperatures, but no fewer than a minimum, after half as many scans of burn-in. Model
  // and start must outlive this object. Throws Error for a model or a sampler that cannot be
  // tempered.
  TemperedStart(const EvaluateSpec& spec, EnergyModel& model, const Factorised& start,
                int64_t temperatures, int64_t first_chain, const Context& context);

  // Runs to the end, or until stop() is true, and returns whether it is finished. Calls on_step
  // after every scan.
  bool run(const std::function<void()>& on_step, const std::function<bool()>& stop);
  bool finished() const { return states_.defined(); }
  int64_t steps_done() const { return finished() ? steps_ : ladder_->steps_done(); }
  int64_t steps_total() const { return steps_; }

  PtDict checkpoint() const;
  void restore(const PtDict& checkpoint);

  // The following are valid once it is finished: the states [chains, D] on the CPU, and R̂ of the
  // energies between ensembles.
  const torch::Tensor& states() const { return states_; }
  double rhat() const { return rhat_; }
  double round_trips() const { return round_trips_; }  // Counts those of all ensembles together.
  int64_t energy_evaluations() const { return evaluations_; }
  nlohmann::ordered_json json() const;  // Returns {steps, rungs, round_trips}.

 private:
  int64_t chains_, steps_;
  std::unique_ptr<ParallelTempering> tempering_;
  std::unique_ptr<TemperedEstimate> ladder_;  // It is null once the ladder has finished.
  torch::Tensor states_;
  double rhat_ = 0, round_trips_ = 0;
  int64_t rungs_ = 0, evaluations_ = 0;
};

}  // namespace isinglass
