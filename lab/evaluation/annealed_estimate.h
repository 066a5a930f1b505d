// Estimates log Z by annealed importance sampling, forward and in reverse (engine/annealing/ais.h).
#pragma once

#include <memory>

#include "lab/evaluation/log_z_estimate.h"
#include "lab/evaluation/tempered_start.h"
#include "lab/spec/spec.h"

namespace isinglass {

class AnnealedEstimate : public LogZEstimate {
 public:
  // Takes a resolved spec, the number of temperatures, and the global number of the first chain.
  // The model, the sampler and the start must outlive this object. Throws Error for what does not
  // fit together.
  AnnealedEstimate(const EvaluateSpec& spec, EnergyModel& model, const Sampler& sampler,
                   const Factorised& start, int64_t temperatures, int64_t first_chain, bool curve,
                   const Context& context);

  bool run(const std::function<void()>& on_step, const std::function<bool()>& stop) override;
  int64_t steps_done() const override;
  int64_t steps_total() const override;
  int64_t chain_numbers() const override { return annealing_.chain_numbers(); }
  PtDict checkpoint() const override;
  void restore(const PtDict& checkpoint) override;

  LogZBounds log_z() const override { return result_.bounds(); }
  BracketVerdict verdict(double largest_bracket) const override;
  std::vector<CurvePoint> curve() const override { return result_.curve; }
  std::string text(double start_error) const override;
  nlohmann::ordered_json json(double start_error) const override;
  double acceptance() const override { return result_.acceptance; }
  int64_t energy_evaluations() const override;
  PtDict chains() const override;
  std::optional<double> reverse_start_rhat() const override;

 private:
  std::string schedule_, path_, reverse_from_;
  // Runs first; null if the reverse chains need no ladder.
  std::unique_ptr<TemperedStart> tempered_;
  AnnealedImportanceSampling annealing_;
  AisResult result_;
};

}  // namespace isinglass
