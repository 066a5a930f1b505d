// Implements chains from noise that enter the replay buffer after a burn-in.
#include "train/objectives/fresh_chains.h"

#include "train/objectives/replay_buffer.h"

namespace isinglass {

FreshChains::FreshChains(const EnergyModel& model, int64_t count, int64_t period,
                         int64_t first_number, uint64_t key, torch::Device device)
    : model_(model),
      period_(period),
      key_(key),
      numbers_(torch::arange(first_number, first_number + count,
                             torch::TensorOptions(torch::kInt64).device(device))),
      states_(uniform_chains(model, numbers_, key, 0, Purpose::kInitialState)),
      begun_(torch::zeros({count}, torch::kInt64)) {}

torch::Tensor FreshChains::starts(const torch::Tensor& batch, int64_t iteration) {
  const int64_t count = states_.size(0), rows = batch.size(0);
  torch::Tensor all = torch::cat({batch, states_});
  for (int64_t k = 0; k < count; ++k) {
    if (iteration % period_ != k * period_ / count) continue;
    // The first end of a burn-in comes too early, both at the beginning of training and after
    // begin(). The state is not used then.
    int64_t& begun = begun_.data_ptr<int64_t>()[k];
    if (begun == 1) all[k].copy_(states_[k]);
    begun = 1;
    all.narrow(0, rows + k, 1)
        .copy_(uniform_chains(model_, numbers_.narrow(0, k, 1), key_, iteration,
                              Purpose::kReinitialState));
  }
  return all;
}

torch::Tensor FreshChains::numbers(const torch::Tensor& slots) const {
  return torch::cat({slots, numbers_});
}

void FreshChains::begin() {
  states_.copy_(uniform_chains(model_, numbers_, key_, 0, Purpose::kInitialState));
  begun_.zero_();
}

void FreshChains::repair(EnergyModel& model, int64_t time) {
  torch::NoGradGuard no_grad;
  const torch::Tensor lost = torch::isfinite(model.energy(states_)).logical_not().unsqueeze(1);
  states_.copy_(torch::where(
      lost, uniform_chains(model_, numbers_, key_, time, Purpose::kInitialState), states_));
}

}  // namespace isinglass
