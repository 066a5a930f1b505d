// Observers that keep states of the chains, besides the draws of the recorder (recorder.h).
#pragma once

#include <utility>
#include <vector>

#include "engine/run/run.h"

namespace isinglass {

// Records the mean energy over chains after every step of burn-in; the recorder has the energies of
// the later steps. All chains must be on this rank.
class BurnInTrace : public Observer {
 public:
  explicit BurnInTrace(const RunPlan& plan);
  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  bool every_step(bool burn_in) const override { return burn_in; }
  const torch::Tensor& mean() const { return mean_; }  // float64 [burn-in]

 private:
  torch::Tensor mean_;
};

// Computes the mean of every site's value over the draws: float64 [B, D].
class StateMean : public Observer {
 public:
  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  // Returns ‖mean − truth‖₂ of every chain, float64 [B].
  torch::Tensor error(double truth) const;

 private:
  torch::Tensor sum_;
  int64_t draws_ = 0;
};

// Keeps up to `most` states of every chain, evenly spaced over the second half of the run: [B,
// most, D].
class LateStates : public Observer {
 public:
  LateStates(int64_t draws, int64_t most);
  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  torch::Tensor states() const { return torch::stack(states_, 1); }

 private:
  int64_t draws_, most_, every_;
  std::vector<torch::Tensor> states_;
};

// Keeps every chain's state at steps 1, 2, 4, 8, … of burn-in and run, with the seconds since the
// start.
class StatesInTime : public Observer {
 public:
  explicit StatesInTime(torch::Device device);
  void on_step(int64_t, bool, const ChainState& state) override;
  const std::vector<double>& seconds() const { return seconds_; }
  const std::vector<torch::Tensor>& states() const { return states_; }  // each [B, 1, D]

 private:
  torch::Device device_;
  double start_;
  int64_t step_ = 0, next_ = 1;
  std::vector<double> seconds_;
  std::vector<torch::Tensor> states_;
};

// Keeps the states of the last draw; best() returns those of least energy first.
class LastStates : public Observer {
 public:
  explicit LastStates(int64_t draws) : draws_(draws) {}
  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  const torch::Tensor& energy() const { return energy_; }  // float64 [B]
  torch::Tensor best(int64_t count) const;

 private:
  int64_t draws_;
  torch::Tensor energy_, states_;
};

}  // namespace isinglass
