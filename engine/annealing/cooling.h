// Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983): burn-in cools the target from T_0 to T_1
// in L levels of equally many steps, L = 100 where burn-in has so many; a step of level l leaves
// exp(−U/T) invariant, T = T_0 (T_1/T_0)^{l/(L−1)}, a geometric schedule (L = 1: T_1). The steps
// after burn-in, at T_1, are draws from exp(−U/T_1) like those of any other run.
//
// Samplers see U/T: of a lattice as a lattice, so that local steps stay local; of other models as
// the annealed energy (annealed_model.h) between U_0 = 0 and U, at β = 1/T. Observers see U.
#pragma once

#include <memory>
#include <vector>

#include "engine/annealing/annealed_model.h"
#include "engine/run/run.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

struct Temperatures {
  double first = 1, last = 1;
};

// β·U of a lattice.
class CooledLattice : public LatticeModel {
 public:
  CooledLattice(LatticeModel& target, torch::Device device) : target_(target), device_(device) {}

  std::string kind_name() const override { return target_.kind_name(); }
  StateSpace space() const override { return target_.space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return beta_ * target_.energy(x); }
  void set_beta(double beta);

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  LatticeModel& target_;
  torch::Device device_;
  double beta_ = 1;
};

class Cooling {
 public:
  // The target outlives this object. Throws Error unless its sites are binary or categorical.
  Cooling(EnergyModel& target, Temperatures temperatures, torch::Device device);

  EnergyModel& model();  // U/T
  double temperature() const { return temperature_; }

  // Before step t of `steps` of burn-in: the model and what the state knows of it at that step's T.
  void at_step(int64_t t, int64_t steps, const Sampler& sampler, ChainState& state);

 private:
  Temperatures temperatures_;
  double temperature_;
  int64_t level_ = -1;
  Factorised nothing_;
  std::unique_ptr<CooledLattice> lattice_;  // one of these
  std::unique_ptr<AnnealedModel> annealed_;
};

// Shows observers the states of a cooled run with the energies U.
class Uncooled : public Observer {
 public:
  Uncooled(const Cooling& cooling, std::vector<Observer*> observers)
      : cooling_(cooling), observers_(std::move(observers)) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  bool every_step(bool burn_in) const override;
  void on_sampling_start() override;
  void on_draw(int64_t draw, const ChainState& state) override;

 private:
  ChainState shown(const ChainState& state) const;

  const Cooling& cooling_;
  std::vector<Observer*> observers_;
};

}  // namespace isinglass
