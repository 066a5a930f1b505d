// Shows whole states and their energies to the observers of a run on a restricted model
// (models/conditional/restriction.h).
#pragma once

#include <utility>
#include <vector>

#include "engine/run/observer.h"
#include "models/conditional/restriction.h"

namespace isinglass {

class CompletedStates : public Observer {
 public:
  CompletedStates(Restriction restriction, std::vector<Observer*> observers)
      : restriction_(std::move(restriction)), observers_(std::move(observers)) {}

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
  // Returns a state that shares all but x and, where they differ, the energies with the chains'.
  ChainState completed(const ChainState& state) const {
    ChainState whole = state;
    whole.x = restriction_.complete(state.x);
    const torch::Tensor extra = restriction_.extra_energy(state.x);
    if (!extra.defined()) return whole;
    Evaluation& at = whole.current;
    at.energy = at.energy - extra;
    if (at.target.defined()) at.target = at.target - extra;
    return whole;
  }

  Restriction restriction_;
  std::vector<Observer*> observers_;
};

}  // namespace isinglass
