// log Z by parallel tempering (engine/tempering/parallel_tempering.h): Bennett's ratio over the rungs,
// with a bound from either end.
#pragma once

#include "engine/tempering/parallel_tempering.h"
#include "lab/evaluation/log_z_estimate.h"
#include "lab/spec/spec.h"

namespace isinglass {

class TemperedEstimate : public LogZEstimate {
 public:
  // Of a resolved spec: half as many scans of burn-in, then `scans`, of ensembles from the given
  // number on that begin as draws of `start`. Ranks share them. It keeps so many states of each at
  // β = 1, evenly apart. Tempering, model and start outlive this.
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
  std::string text() const override;
  nlohmann::ordered_json json() const override;
  double acceptance() const override { return report_.acceptance.back(); }
  int64_t energy_evaluations() const override { return evaluations_; }
  PtDict chains() const override { return {{"x", {x_}}}; }
  torch::Tensor rung_history() const override { return report_.history; }

  // Once it is finished: the kept states of all ranks' ensembles [states, ensembles, D] on the CPU,
  // R̂ of the energies at β = 1, and how often all ensembles together went to β = 0 and back.
  torch::Tensor states() const;
  double rhat() const { return rhat_; }
  double round_trips() const;

 private:
  PtDict settings() const;
  torch::Tensor all_energies() const;  // of all ranks, on the CPU

  EnergyModel& model_;
  const ParallelTempering& tempering_;
  const Ranks& ranks_;
  Share own_;
  int64_t ensembles_;  // of all ranks
  int64_t burn_in_, scans_, exploration_, first_chain_;
  int64_t every_;  // scans from one energy that is kept to the next
  int64_t seed_;
  bool cuda_graph_;
  std::string path_, start_sha256_;
  StepParams params_;
  ChainState state_;
  torch::Tensor energies_;  // float64 [rows, own_.count]: U at β = 1
  torch::Tensor states_;    // [states, own_.count, D]; undefined: none are kept
  int64_t done_ = 0, evaluations_ = 0;
  torch::Tensor x_;  // of all ranks, at the end
  TemperingReport report_;
  double rhat_ = 0;
};

}  // namespace isinglass
