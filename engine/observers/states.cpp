// Implements the observers of states.
#include "engine/observers/states.h"

#include <algorithm>

#include "engine/run/clock.h"

namespace isinglass {

BurnInTrace::BurnInTrace(const RunPlan& plan)
    : mean_(torch::empty({plan.burn_in}, torch::kFloat64)) {}

void BurnInTrace::on_step(int64_t step, bool burn_in, const ChainState& state) {
  if (burn_in) mean_[step] = state.current.untempered().mean();
}

void StateMean::on_draw(int64_t draw, const ChainState& state) {
  if (draw == 0) sum_ = torch::zeros(state.x.sizes(), state.x.options().dtype(torch::kFloat64));
  sum_ += state.x;
  draws_ = draw + 1;
}

torch::Tensor StateMean::error(double truth) const {
  return (sum_ / static_cast<double>(draws_) - truth).norm(2, {1}).cpu();
}

LateStates::LateStates(int64_t draws, int64_t most)
    : draws_(draws), most_(most), every_(std::max<int64_t>(1, draws / 2 / most)) {}

void LateStates::on_draw(int64_t draw, const ChainState& state) {
  const int64_t left = draws_ - 1 - draw;
  if (left % every_ == 0 && left / every_ < most_) {
    states_.push_back(state.x.cpu().clone());  // copies, because x changes later
  }
}

StatesInTime::StatesInTime(torch::Device device)
    : device_(device), start_(synchronised_seconds(device)) {}

void StatesInTime::on_step(int64_t, bool, const ChainState& state) {
  if (++step_ != next_) return;
  next_ *= 2;
  seconds_.push_back(synchronised_seconds(device_) - start_);
  states_.push_back(state.x.cpu().unsqueeze(1).clone());
}

void LastStates::on_draw(int64_t draw, const ChainState& state) {
  if (draw + 1 != draws_) return;
  energy_ = state.current.untempered().cpu();
  states_ = state.x.cpu().clone();
}

torch::Tensor LastStates::best(int64_t count) const {
  return states_.index_select(0, energy_.argsort().slice(0, 0, count));
}

}  // namespace isinglass
