// Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983): burn-in cools the target. Its step t of
// N leaves exp(−U/T_t) invariant, T_t = T_0 (T_1/T_0)^{t/(N−1)}, a geometric schedule; the steps
// after burn-in, at T_1, are draws from exp(−U/T_1) like those of any other run.
//
// The samplers see U/T as the annealed energy (annealed_model.h) between nothing, U_0 = 0, and U at
// β = 1/T; observers see U.
#pragma once

#include <vector>

#include "engine/annealed_model.h"
#include "engine/run.h"

namespace isinglass {

struct Temperatures {
  double first = 1, last = 1;
};

class Cooling {
 public:
  // The target outlives this object. Throws Error unless its sites are binary or categorical.
  Cooling(EnergyModel& target, Temperatures temperatures, torch::Device device);

  EnergyModel& model() { return model_; }  // U/T

  // Before step t of `steps` of burn-in: the state's energies and gradients at T_t.
  void at_step(int64_t t, int64_t steps, ChainState& state);

 private:
  Temperatures temperatures_;
  Factorised nothing_;
  AnnealedModel model_;
};

// Shows observers the states of a cooled run with the energies U.
class Uncooled : public Observer {
 public:
  explicit Uncooled(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  void on_sampling_start() override;
  void on_draw(int64_t draw, const ChainState& state) override;

 private:
  std::vector<Observer*> observers_;
};

}  // namespace isinglass
