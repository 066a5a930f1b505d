// See tempered_rungs.h.
#include "train/objectives/tempered_rungs.h"

#include "engine/chain_state.h"
#include "kernels/ops/random_states.h"

namespace isinglass {

TemperedRungs::TemperedRungs(EnergyModel& model, int64_t rungs, int64_t batch, int64_t first_number,
                             uint64_t key, torch::Device device)
    : target_(model),
      uniform_(Factorised::uniform(model.space(), device)),
      batch_(batch),
      key_(key),
      model_(model, &uniform_, device, TemperedModel::Form::kParts, batch + rungs) {
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  numbers_ = torch::arange(first_number, first_number + rungs, whole);
  states_ = drawn(numbers_, 0);
  const auto real = whole.dtype(torch::kFloat64);
  accepted_ = torch::zeros({}, real);
  model_.set_beta(torch::cat({torch::ones({batch}, real), torch::arange(rungs, real).div(rungs)}));
  // The rows of the states by ascending β; the last one is the first of the batch.
  const torch::Tensor rows =
      torch::cat({torch::arange(batch, batch + rungs, whole), torch::zeros({1}, whole)});
  for (int64_t parity : {0, 1}) {
    lower_[parity] = rows.slice(0, parity, rungs, 2).contiguous();
    upper_[parity] = rows.slice(0, parity + 1, rungs + 1, 2).contiguous();
  }
}

torch::Tensor TemperedRungs::drawn(const torch::Tensor& numbers, int64_t time) const {
  torch::Tensor x = torch::empty({numbers.size(0), target_.space().sites},
                                 numbers.options().dtype(torch::kUInt8));
  uniform_.draw(StepParams::create(key_, {}, x.device(), time).rng, numbers, x);
  return x;
}

torch::Tensor TemperedRungs::starts(const torch::Tensor& batch, int64_t iteration) const {
  return torch::cat({batch, drawn(numbers_.narrow(0, 0, 1), iteration),
                     states_.narrow(0, 1, states_.size(0) - 1)});
}

torch::Tensor TemperedRungs::numbers(const torch::Tensor& slots) const {
  return torch::cat({slots, numbers_});
}

void TemperedRungs::swap(torch::Tensor& states, const Evaluation& current, int64_t iteration) {
  torch::NoGradGuard no_grad;
  const torch::Tensor &lower = lower_[iteration % 2], &upper = upper_[iteration % 2];
  if (lower.size(0) > 0) {  // one rung has a pair in every second iteration
    torch::Tensor accepted = torch::empty({1, lower.size(0)}, states.options());
    const torch::Tensor &u = current.target, &beta = model_.beta();
    const torch::Tensor log_ratio = (beta.index_select(0, upper) - beta.index_select(0, lower)) *
                                    (u.index_select(0, upper) - u.index_select(0, lower));
    const torch::Tensor probability = log_ratio.clamp_max(0).exp().to(torch::kFloat32);
    ops::bernoulli_rows(probability.unsqueeze(0), numbers_.narrow(0, 0, 1),
                        static_cast<int64_t>(key_), iteration, Purpose::kSwap, accepted);
    const torch::Tensor below = states.index_select(0, lower),
                        above = states.index_select(0, upper);
    const torch::Tensor change = accepted.view({-1, 1}).to(torch::kBool);
    states.index_copy_(0, lower, torch::where(change, above, below));
    states.index_copy_(0, upper, torch::where(change, below, above));
    accepted_.copy_(accepted.to(torch::kFloat64).mean());
  }
  states_.copy_(states.narrow(0, batch_, states_.size(0)));
}

void TemperedRungs::repair(int64_t time) {
  torch::NoGradGuard no_grad;
  const torch::Tensor lost = torch::isfinite(target_.energy(states_)).logical_not().unsqueeze(1);
  // Iterations count from 1 and stay far below this.
  states_.copy_(torch::where(lost, drawn(numbers_, (int64_t{1} << 32) - time), states_));
}

}  // namespace isinglass
