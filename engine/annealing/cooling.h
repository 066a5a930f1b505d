// Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983). Burn-in cools the target from T_0 to T_1
// in L levels of equally many steps; L = 100, or the number of steps if burn-in has fewer. A step
// at level l leaves exp(−U/T) invariant, with the geometric schedule T = T_0 (T_1/T_0)^{l/(L−1)} (L
// = 1: T_1). The steps after burn-in, at T_1, are draws from exp(−U/T_1) like those of any other
// run.
//
// With a population of G > 1, the chains of each group of G are resampled between levels
// (population.h). Chains of a group then depend on each other, and their states at T_1 are as near
// to exp(−U/T_1) as G allows.
//
// Samplers see U/T (tempered_model.h), observers see U.
#pragma once

#include "engine/annealing/tempered_model.h"
#include "engine/run/step_hook.h"

namespace isinglass {

struct Temperatures {
  double first = 1, last = 1;
};

inline constexpr int64_t kCoolingLevels = 100;

class Cooling : public StepHook {
 public:
  // steps: the length of burn-in, at least 1. The target must outlive this object. population: G,
  // which divides the chains. most_levels: L if there are as many steps.
  Cooling(EnergyModel& target, Temperatures temperatures, int64_t steps, torch::Device device,
          int64_t population = 1, int64_t most_levels = kCoolingLevels);

  // Returns the number of steps of the first level.
  static int64_t first_level_steps(int64_t steps);

  TemperedModel& model() { return model_; }
  double temperature() const { return temperature_; }

  int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                      StepParams& params) override;
  bool goes_on() const override { return true; }

 private:
  void resample(double before, const Sampler& sampler, ChainState& state, const StepParams& params);

  Temperatures temperatures_;
  int64_t steps_, population_, levels_, level_ = -1;
  double temperature_;
  TemperedModel model_;
};

}  // namespace isinglass
