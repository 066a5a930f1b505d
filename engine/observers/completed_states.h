// Shows whole states to the observers of a run on a conditional model, whose chains hold the free
// sites alone (models/conditional/fixed_sites.h).
#pragma once

#include <utility>
#include <vector>

#include "engine/run/observer.h"
#include "models/conditional/fixed_sites.h"

namespace isinglass {

class CompletedStates : public Observer {
 public:
  CompletedStates(FixedSites fixed, std::vector<Observer*> observers)
      : fixed_(std::move(fixed)), observers_(std::move(observers)) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    const ChainState whole = completed(state);
    for (Observer* observer : observers_) observer->on_step(step, burn_in, whole);
  }
  bool every_step(bool burn_in) const override {
    for (const Observer* observer : observers_) {
      if (observer->every_step(burn_in)) return true;
    }
    return false;
  }
  void on_sampling_start() override {
    for (Observer* observer : observers_) observer->on_sampling_start();
  }
  void on_draw(int64_t draw, const ChainState& state) override {
    const ChainState whole = completed(state);
    for (Observer* observer : observers_) observer->on_draw(draw, whole);
  }
  void on_save() override {
    for (Observer* observer : observers_) observer->on_save();
  }
  void on_end() override {
    for (Observer* observer : observers_) observer->on_end();
  }

 private:
  // Returns a state that shares all but x, and the energies of spare entries, with the chains'.
  ChainState completed(const ChainState& state) const {
    ChainState whole = state;
    whole.x = fixed_.complete(state.x);
    if (!fixed_.spare().defined()) return whole;
    const torch::Tensor spare = fixed_.spare_energy(state.chains());
    Evaluation& at = whole.current;
    at.energy = at.energy - spare;
    if (at.target.defined()) at.target = at.target - spare;
    return whole;
  }

  FixedSites fixed_;
  std::vector<Observer*> observers_;
};

}  // namespace isinglass
