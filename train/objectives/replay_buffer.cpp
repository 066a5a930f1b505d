// Implements the replay buffer of persistent chains.
#include "train/objectives/replay_buffer.h"

#include "kernels/ops/random.h"
#include "kernels/random/streams.h"
#include "train/data/batches.h"

namespace isinglass {

torch::Tensor uniform_chains(const StateSpace& space, const torch::Tensor& numbers, uint64_t key,
                             int64_t time, Purpose purpose) {
  torch::Tensor x =
      torch::empty({numbers.size(0), space.sites}, numbers.options().dtype(torch::kUInt8));
  ops::uniform_rows(space.categories, numbers, static_cast<int64_t>(key), time, purpose, x);
  return x;
}

ReplayBuffer::ReplayBuffer(const torch::Tensor& mean, int64_t size, uint64_t seed)
    : mean_(mean.contiguous()), key_(stream_key(seed, RandomStream::kTraining)) {
  const auto on_device = torch::TensorOptions().device(mean.device());
  states_ = torch::empty({size, mean.size(0)}, on_device.dtype(torch::kUInt8));
  reinitialise(torch::arange(size, on_device.dtype(torch::kInt64)), /*time=*/0);
}

void ReplayBuffer::reinitialise(const torch::Tensor& slots, int64_t time) {
  const torch::Tensor on_device = slots.to(states_.device());
  torch::Tensor drawn = torch::empty({slots.size(0), states_.size(1)}, states_.options());
  ops::site_rows(mean_, on_device, static_cast<int64_t>(key_), time, Purpose::kInitialState, drawn);
  write_back(on_device, drawn);
}

torch::Tensor ReplayBuffer::draw_slots(int64_t count, int64_t iteration) const {
  return random_order({key_, 0, static_cast<uint32_t>(iteration)}, Purpose::kSlots, size(), count)
      .to(states_.device());
}

torch::Tensor ReplayBuffer::chains(const torch::Tensor& slots, double reinit,
                                   int64_t iteration) const {
  torch::Tensor chains = states_.index_select(0, slots);
  if (reinit == 0) return chains;
  const auto key = static_cast<int64_t>(key_);
  torch::Tensor restart = torch::empty({slots.size(0), 1}, chains.options());
  torch::Tensor fresh = torch::empty_like(chains);
  const torch::Tensor probability =
      torch::full({1}, reinit, torch::TensorOptions(torch::kFloat32).device(chains.device()));
  ops::bernoulli_rows(probability, slots, key, iteration, Purpose::kReinitialise, restart);
  ops::site_rows(mean_, slots, key, iteration, Purpose::kReinitialState, fresh);
  return torch::where(restart.to(torch::kBool), fresh, chains);
}

void ReplayBuffer::write_back(const torch::Tensor& slots, const torch::Tensor& chains) {
  states_.index_copy_(0, slots, chains);
}

}  // namespace isinglass
