// Implements log Z by the work on persistent chains.
#include "train/objectives/chain_weights.h"

#include <cmath>

#include "engine/annealing/population.h"

namespace isinglass {

ChainWeights::ChainWeights(int64_t slots, torch::Device device)
    : log_weight_(torch::zeros({slots}, torch::TensorOptions(torch::kFloat64).device(device))),
      log_z_(torch::zeros({}, log_weight_.options())),
      ess_(torch::zeros({}, log_weight_.options())) {}

void ChainWeights::measure(const torch::Tensor& slots, const torch::Tensor& work,
                           const torch::Tensor& energy, const torch::Tensor& log_q) {
  const torch::NoGradGuard no_grad;
  latest_ =
      torch::where(torch::isnan(work), -energy - log_q, log_weight_.index_select(0, slots) - work);
  const torch::Tensor sum = torch::logsumexp(latest_, 0);
  log_z_.copy_(sum - std::log(static_cast<double>(latest_.size(0))));
  ess_.copy_(torch::exp(2 * sum - torch::logsumexp(2 * latest_, 0)));
}

torch::Tensor ChainWeights::resample(const torch::Tensor& slots, const torch::Tensor& rng) {
  const torch::NoGradGuard no_grad;
  const int64_t count = latest_.size(0);
  torch::Tensor continued, weights = latest_;
  if (ess_.item<double>() < 0.5 * static_cast<double>(count)) {
    continued = resampled_chains(latest_, count, rng, slots).to(slots.device());
    weights = log_z_.repeat({count});
  }
  log_weight_.index_copy_(0, slots, weights);
  return continued;
}

}  // namespace isinglass
