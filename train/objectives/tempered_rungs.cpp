// Implements the tempered chains of training.
#include "train/objectives/tempered_rungs.h"

namespace isinglass {
namespace {

torch::Tensor reals(at::IntArrayRef sizes, torch::Device device) {
  return torch::zeros(sizes, torch::TensorOptions(torch::kFloat64).device(device));
}

}  // namespace

TemperedRungs::TemperedRungs(EnergyModel& model, int64_t rungs, int64_t batch, int64_t first_number,
                             uint64_t key, torch::Device device)
    : target_(model),
      key_(key),
      model_(model, /*start=*/nullptr, device, TemperedModel::Form::kParts, batch + rungs),
      steps_(Statistics::create(rungs + 1, device)),
      counted_(Statistics::create(1, device)),
      accepted_(reals({}, device)) {
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  numbers_ = torch::arange(first_number, first_number + rungs, whole);
  states_ = uniform(numbers_, 0, Purpose::kInitialState);
  rows_ = torch::cat({torch::arange(batch, batch + rungs, whole), torch::zeros({1}, whole)});
  const int64_t all = rungs + 1;
  const torch::Tensor beta = torch::arange(all, whole.dtype(torch::kFloat64)).div(rungs);
  model_.set_beta(torch::cat({torch::ones({batch}, beta.options()), beta.narrow(0, 0, rungs)}));
  rungs_ = {.beta = beta, .scale = reals({all, 0}, device)};
  at_.beta = reals({all}, device);
  at_.scale = reals({all, 0}, device);
  at_.start = reals({all}, device);  // uniform
  at_.target = reals({all}, device);
  at_.energy = reals({all}, device);
  sums_.rejection = reals({1, rungs}, device);
  sums_.acceptance = reals({1, all}, device);
  sums_.end = torch::zeros({all}, whole);
  sums_.trips = torch::zeros({1}, whole);
  sums_.history = torch::zeros({1, all}, whole.dtype(torch::kInt16));
  sums_.delta_u = reals({0, 1, rungs, 2}, device);
  sums_.all = false;
  top_.x = torch::empty_like(states_.narrow(0, 0, 1));
  top_.energy = reals({1}, device);
  top_.local = 1;
}

torch::Tensor TemperedRungs::starts(const torch::Tensor& batch, int64_t iteration) const {
  return torch::cat({batch, uniform(numbers_.narrow(0, 0, 1), iteration, Purpose::kReinitialState),
                     states_.narrow(0, 1, states_.size(0) - 1)});
}

torch::Tensor TemperedRungs::numbers(const torch::Tensor& slots) const {
  return torch::cat({slots, numbers_});
}

void TemperedRungs::swap(torch::Tensor& states, const Evaluation& current, int64_t iteration) {
  torch::NoGradGuard no_grad;
  const int64_t rungs = states_.size(0);
  top_.states = states.index_select(0, rows_);
  at_.chain = torch::arange(rungs + 1, rows_.options()).unsqueeze(0);
  torch::index_select_out(at_.target, current.target, 0, rows_);
  sums_.rejection.zero_();
  ops::swap_rungs(rungs_, at_, sums_, top_, steps_, counted_,
                  StepParams::create(key_, {}, states.device(), iteration).rng,
                  numbers_.narrow(0, 0, 1));
  states.index_copy_(0, rows_, top_.states.index_select(0, at_.chain.flatten()));
  states_.copy_(states.narrow(0, states.size(0) - rungs, rungs));
  const int64_t pairs =
      (rungs + 1 - iteration % 2) / 2;  // with one rung, only even iterations have a pair
  if (pairs > 0) accepted_.copy_(1 - sums_.rejection.sum() / pairs);
}

void TemperedRungs::repair(int64_t time) {
  torch::NoGradGuard no_grad;
  const torch::Tensor lost = torch::isfinite(target_.energy(states_)).logical_not().unsqueeze(1);
  states_.copy_(torch::where(lost, uniform(numbers_, time, Purpose::kInitialState), states_));
}

}  // namespace isinglass
