// Implements the replay buffer of persistent chains.
#include "train/objectives/replay_buffer.h"

#include "kernels/ops/random.h"
#include "kernels/random/streams.h"
#include "train/data/batches.h"

namespace isinglass {

torch::Tensor uniform_chains(const EnergyModel& model, const torch::Tensor& numbers, uint64_t key,
                             int64_t time, Purpose purpose) {
  const StateSpace space = model.space();
  if (const std::optional<Bounds> bounds = bounds_of(model)) {
    return BaseDistribution::uniform(space.sites, *bounds, numbers.device())
        .draw(numbers, key, time, purpose);
  }
  torch::Tensor x =
      torch::empty({numbers.size(0), space.sites}, numbers.options().dtype(torch::kUInt8));
  ops::uniform_rows(space.categories, numbers, static_cast<int64_t>(key), time, purpose, x);
  return x;
}

BaseDistribution::BaseDistribution(const torch::Tensor& mean) : mean_(mean.contiguous()) {}

BaseDistribution BaseDistribution::normal(const torch::Tensor& mean,
                                          const torch::Tensor& deviation) {
  BaseDistribution base(mean.to(torch::kFloat32));
  base.deviation_ = deviation.to(torch::kFloat32).contiguous();
  return base;
}

BaseDistribution BaseDistribution::uniform(int64_t sites, const Bounds& bounds,
                                           torch::Device device) {
  BaseDistribution base(torch::zeros({sites}, torch::TensorOptions(device)));
  base.bounds_ = bounds;
  return base;
}

torch::ScalarType BaseDistribution::dtype() const {
  return bounds_ || deviation_.defined() ? torch::kFloat32 : torch::kUInt8;
}

torch::Tensor BaseDistribution::draw(const torch::Tensor& numbers, uint64_t key, int64_t time,
                                     Purpose purpose) const {
  torch::Tensor x = torch::empty({numbers.size(0), sites()},
                                 torch::TensorOptions(dtype()).device(numbers.device()));
  const auto seed = static_cast<int64_t>(key);
  if (dtype() == torch::kUInt8) {
    ops::site_rows(mean_, numbers, seed, time, purpose, x);
    return x;
  }
  ops::normal_rows(numbers, seed, time, purpose, x);
  if (bounds_) {
    make_uniform(*bounds_, x);
  } else {
    x.mul_(deviation_).add_(mean_);
  }
  return x;
}

ReplayBuffer::ReplayBuffer(BaseDistribution base, int64_t size, uint64_t seed)
    : base_(std::move(base)), key_(stream_key(seed, RandomStream::kTraining)) {
  const auto on_device = torch::TensorOptions().device(base_.device());
  states_ = torch::empty({size, base_.sites()}, on_device.dtype(base_.dtype()));
  reinitialise(torch::arange(size, on_device.dtype(torch::kInt64)), /*time=*/0);
}

void ReplayBuffer::set_seed(uint64_t seed) {
  key_ = stream_key(seed, RandomStream::kTraining);
}

void ReplayBuffer::reinitialise(const torch::Tensor& slots, int64_t time) {
  const torch::Tensor on_device = slots.to(states_.device());
  write_back(on_device, base_.draw(on_device, key_, time, Purpose::kInitialState));
}

torch::Tensor ReplayBuffer::draw_slots(int64_t count, int64_t iteration) const {
  return random_order({key_, 0, static_cast<uint32_t>(iteration)}, Purpose::kSlots, size(), count)
      .to(states_.device());
}

torch::Tensor ReplayBuffer::chains(const torch::Tensor& slots, double reinit,
                                   int64_t iteration) const {
  torch::Tensor chains = states_.index_select(0, slots);
  if (reinit == 0) return chains;
  torch::Tensor restart = torch::empty({slots.size(0), 1}, chains.options().dtype(torch::kUInt8));
  const torch::Tensor probability =
      torch::full({1}, reinit, torch::TensorOptions(torch::kFloat32).device(chains.device()));
  ops::bernoulli_rows(probability, slots, static_cast<int64_t>(key_), iteration,
                      Purpose::kReinitialise, restart);
  const torch::Tensor fresh = base_.draw(slots, key_, iteration, Purpose::kReinitialState);
  return torch::where(restart.to(torch::kBool), fresh, chains);
}

void ReplayBuffer::write_back(const torch::Tensor& slots, const torch::Tensor& chains) {
  states_.index_copy_(0, slots, chains);
}

}  // namespace isinglass
