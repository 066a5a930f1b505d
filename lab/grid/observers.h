// What cells of a grid keep of their runs, beside the recorder's energies.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "lab/grid/ground_truth.h"
#include "engine/run/run.h"
#include "models/combined/misled.h"

namespace isinglass {

// Mean energy over chains after every step of burn-in; the recorder has the later ones.
class BurnInTrace : public Observer {
 public:
  explicit BurnInTrace(const RunPlan& plan)
      : mean_(torch::empty({plan.burn_in}, torch::kFloat64)) {}
  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    if (burn_in) mean_[step] = state.current.energy.mean();
  }
  bool every_step(bool burn_in) const override { return burn_in; }
  const torch::Tensor& mean() const { return mean_; }

 private:
  torch::Tensor mean_;
};

// Means of the sites' values over the draws: float64 [B, D].
class StateMean : public Observer {
 public:
  void on_draw(int64_t draw, const ChainState& state) override {
    if (draw == 0) sum_ = torch::zeros(state.x.sizes(), state.x.options().dtype(torch::kFloat64));
    sum_ += state.x;
    draws_ = draw + 1;
  }
  bool every_step(bool) const override { return false; }
  // ‖mean − truth‖₂ of every chain, float64 [B].
  torch::Tensor error(double truth) const {
    return (sum_ / static_cast<double>(draws_) - truth).norm(2, {1}).cpu();
  }

 private:
  torch::Tensor sum_;
  int64_t draws_ = 0;
};

// Some states of every chain, from the second half of the run: [B, kMmdDraws, D].
class LateStates : public Observer {
 public:
  explicit LateStates(int64_t draws)
      : draws_(draws), every_(std::max<int64_t>(1, draws / 2 / kMmdDraws)) {}
  void on_draw(int64_t draw, const ChainState& state) override {
    const int64_t left = draws_ - 1 - draw;
    if (left % every_ == 0 && left / every_ < kMmdDraws) {
      states_.push_back(state.x.cpu().clone());  // x moves on
    }
  }
  bool every_step(bool) const override { return false; }
  torch::Tensor states() const { return torch::stack(states_, 1); }

 private:
  int64_t draws_, every_;
  std::vector<torch::Tensor> states_;
};

// Every chain's state at steps 1, 2, 4, 8, … of burn-in and run, with the seconds since the start.
class StatesInTime : public Observer {
 public:
  explicit StatesInTime(torch::Device device)
      : device_(device), start_(synchronised_seconds(device)) {}
  void on_step(int64_t, bool, const ChainState& state) override {
    if (++step_ != next_) return;
    next_ *= 2;
    seconds_.push_back(synchronised_seconds(device_) - start_);
    states_.push_back(state.x.cpu().unsqueeze(1).clone());
  }
  const std::vector<double>& seconds() const { return seconds_; }
  const std::vector<torch::Tensor>& states() const { return states_; }  // each [B, 1, D]

 private:
  torch::Device device_;
  double start_;
  int64_t step_ = 0, next_ = 1;
  std::vector<double> seconds_;
  std::vector<torch::Tensor> states_;
};

// Which chains are at right modes (models/combined/misled.h).
class ModeShare : public Observer {
 public:
  ModeShare(const Modes& modes, const RunPlan& plan)
      : modes_(modes), plan_(plan), share_(torch::empty({plan.burn_in + plan.steps})) {}
  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    const torch::Tensor right = modes_.at_right(state.x);
    share_[burn_in ? step : plan_.burn_in + step] = right.mean();
    if (burn_in || step < plan_.steps - plan_.steps / 4) return;
    late_ = late_.defined() ? late_ + right : right;
    ++late_steps_;
  }
  // Of the chains, after every step from the start: float32 [steps].
  const torch::Tensor& share() const { return share_; }
  // Of the steps in the last quarter: float64 [B].
  torch::Tensor late() const { return (late_ / static_cast<double>(late_steps_)).cpu(); }
  // Steps until the share is first as large; none where it never is.
  std::optional<int64_t> steps_until(double share) const {
    const torch::Tensor reached = (share_ >= share).nonzero();
    if (reached.size(0) == 0) return std::nullopt;
    return reached[0][0].item<int64_t>() + 1;
  }

 private:
  Modes modes_;
  RunPlan plan_;
  torch::Tensor share_, late_;
  int64_t late_steps_ = 0;
};

// The states of the last draw, those of least energy first.
class LastStates : public Observer {
 public:
  explicit LastStates(int64_t draws) : draws_(draws) {}
  void on_draw(int64_t draw, const ChainState& state) override {
    if (draw + 1 != draws_) return;
    energy_ = state.current.energy.cpu();
    states_ = state.x.cpu().clone();
  }
  bool every_step(bool) const override { return false; }
  const torch::Tensor& energy() const { return energy_; }  // float64 [B]
  torch::Tensor best(int64_t count) const {
    return states_.index_select(0, energy_.argsort().slice(0, 0, count));
  }

 private:
  int64_t draws_;
  torch::Tensor energy_, states_;
};

}  // namespace isinglass
