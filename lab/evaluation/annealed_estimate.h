// log Z by annealed importance sampling, forward and in reverse (engine/annealing/ais.h).
#pragma once

#include "lab/evaluation/log_z_estimate.h"
#include "lab/spec/spec.h"

namespace isinglass {

class AnnealedEstimate : public LogZEstimate {
 public:
  // Of a resolved spec, with so many temperatures and chains from the given number on. Model, sampler
  // and start outlive this. Throws Error for what does not fit together.
  AnnealedEstimate(const EvaluateSpec& spec, EnergyModel& model, const Sampler& sampler,
                   const Factorised& start, int64_t temperatures, int64_t first_chain, bool curve,
                   const Context& context);

  bool run(const std::function<void()>& on_step, const std::function<bool()>& stop) override;
  int64_t steps_done() const override { return annealing_.steps_done(); }
  int64_t steps_total() const override { return annealing_.steps_total(); }
  int64_t chain_numbers() const override { return annealing_.chain_numbers(); }
  PtDict checkpoint() const override { return annealing_.checkpoint(); }
  void restore(const PtDict& checkpoint) override { annealing_.restore(checkpoint); }

  LogZBounds log_z() const override { return result_.bounds(); }
  BracketVerdict verdict(double largest_bracket) const override;
  std::vector<CurvePoint> curve() const override { return result_.curve; }
  std::string text() const override;
  nlohmann::ordered_json json() const override;
  double acceptance() const override { return result_.acceptance; }
  int64_t energy_evaluations() const override { return result_.energy_evaluations; }
  PtDict chains() const override;

 private:
  std::string schedule_, path_, reverse_from_;
  AnnealedImportanceSampling annealing_;
  AisResult result_;
};

}  // namespace isinglass
