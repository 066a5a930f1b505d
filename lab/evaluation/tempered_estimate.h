// Estimates log Z by parallel tempering (engine/tempering/parallel_tempering.h): Bennett's
// acceptance ratio over the rungs, with a bound from either end.
#pragma once

#include "engine/tempering/parallel_tempering.h"
#include "lab/evaluation/log_z_estimate.h"
#include "lab/spec/spec.h"

namespace isinglass {

class TemperedEstimate : public LogZEstimate {
 public:
  // Takes a resolved spec. Makes half as many scans of burn-in as `scans`, then `scans`, of
  // ensembles numbered from first_chain on that begin as draws of `start`. Ranks share the
  // ensembles. Keeps the given number of states of each ensemble at β = 1, evenly spaced over the
  // scans. Tempering, model and start must outlive this object.
  TemperedEstimate(const EvaluateSpec& spec, EnergyModel& model, const ParallelTempering& tempering,
                   const Factorised& start, int64_t scans, int64_t first_chain,
                   const Context& context, int64_t states = 0);

  bool run(const std::function<void()>& on_step, const std::function<bool()>& stop) override;
  int64_t steps_done() const override { return done_; }
  int64_t steps_total() const override { return burn_in_ + scans_; }
  int64_t chain_numbers() const override { return ensembles_; }
  PtDict checkpoint() const override;
  void restore(const PtDict& checkpoint) override;

  LogZBounds log_z() const override;
  BracketVerdict verdict(double largest_bracket) const override;
  std::vector<CurvePoint> curve() const override { return {{scans_, report_.log_z.lower}}; }
  std::string text(double start_error) const override;
  nlohmann::ordered_json json(double start_error) const override;
  double acceptance() const override { return report_.acceptance.back(); }
  int64_t energy_evaluations() const override { return evaluations_; }
  PtDict chains() const override { return {{"x", {x_}}}; }
  torch::Tensor rung_history() const override { return report_.history; }

  // The following are valid once the estimate is finished: the kept states of all ranks' ensembles
  // [states, ensembles, D] on the CPU, R̂ of the energies at β = 1, and the number of round trips
  // to β = 0 and back of all ensembles together.
  torch::Tensor states() const;
  double rhat() const { return rhat_; }
  double round_trips() const;

 private:
  PtDict settings() const;
  torch::Tensor all_energies() const;  // Returns all ranks' energies on the CPU.

  EnergyModel& model_;
  const ParallelTempering& tempering_;
  const Ranks& ranks_;
  Shard own_;
  int64_t ensembles_;  // Counts the ensembles of all ranks.
  int64_t burn_in_, scans_, exploration_, first_chain_;
  int64_t every_;  // Counts the scans between two kept energies.
  int64_t seed_;
  bool cuda_graph_;
  std::string path_, start_sha256_;
  StepParams params_;
  ChainState state_;
  torch::Tensor energies_;  // U at β = 1, float64 [rows, own_.count]
  torch::Tensor states_;    // [states, own_.count, D]; undefined if no states are kept
  int64_t done_ = 0, evaluations_ = 0;
  torch::Tensor x_;  // Holds the final states of all ranks.
  TemperingReport report_;
  double rhat_ = 0;
};

}  // namespace isinglass
