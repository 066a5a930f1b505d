// Implements importance weights of draws of a base.
#include "engine/annealing/base_weights.h"

#include <cmath>

#include "engine/run/base_draws.h"
#include "models/energies.h"

namespace isinglass {

BaseDraws::BaseDraws(EnergyModel& base, uint64_t key, torch::Device device, const Ranks& all_ranks)
    : device_(device),
      // If there are more ranks than chains, each rank makes all draws.
      ranks_(all_ranks.size() <= kChains ? all_ranks : Ranks::single_process()) {
  const Shard own = ranks_.shard(kChains);
  const torch::Tensor chains = torch::arange(own.first, own.first + own.count,
                                             torch::TensorOptions(torch::kInt64).device(device));
  torch::Tensor x = base_draws(base, chains, key);
  std::vector<torch::Tensor> draws;
  for (int64_t i = 0; i < kDraws; ++i) {
    sweep_base(base, chains, key, i * kSweepsBetween, kSweepsBetween, x);
    draws.push_back(x.clone());
  }
  states_ = torch::stack(draws, 1).flatten(0, 1);
}

BaseWeights BaseDraws::weigh(ResidualModel& model) const {
  const torch::Tensor g = model.bounded(energies(model.network(), states_, device_));
  const torch::Tensor log_w = ranks_.gather((-g).view({-1, kDraws}));
  const double largest = log_w.max().item<double>();
  const torch::Tensor w = torch::exp(log_w - largest);
  const torch::Tensor of_chains = w.mean(1);
  const double mean = of_chains.mean().item<double>();
  const double error =
      of_chains.std().item<double>() / std::sqrt(static_cast<double>(of_chains.size(0)));
  const double ess = w.sum().square().item<double>() / w.square().sum().item<double>();
  return {largest + std::log(mean), error / mean, ess, w.numel()};
}

}  // namespace isinglass
