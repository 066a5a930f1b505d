// See likelihood.h.
#include "train/likelihood.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/energies.h"
#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kQuickChains = 100, kQuickTemperatures = 1000, kQuickImages = 1000;

double mean_log_likelihood(EnergyModel& model, const torch::Tensor& x, double log_z,
                           torch::Device device) {
  return -energies(model, x, device).mean().item<double>() - log_z;
}

}  // namespace

Factorised annealing_start(const EnergyModel& model, const Dataset* data, torch::Device device) {
  const torch::Tensor base = model.base_mean();
  if (base.defined()) return Factorised::bernoulli(base.to(device));
  if (data) return Factorised::bernoulli(clamped_mean(*data).to(device));
  return Factorised::uniform(model.space(), device);
}

std::vector<SplitLikelihood> split_likelihoods(EnergyModel& model, const Dataset& data,
                                               double log_z, torch::Device device) {
  const Factorised independent = Factorised::bernoulli(clamped_mean(data));
  const std::pair<const char*, const torch::Tensor*> splits[] = {
      {"train", &data.train}, {"validation", &data.validation}, {"test", &data.test}};
  std::vector<SplitLikelihood> results;
  for (uint64_t i = 0; i < std::size(splits); ++i) {
    const auto& [name, images] = splits[i];
    if (!images->defined() || images->size(0) == 0) continue;
    const torch::Tensor x = binarise_once(*images, data.levels, i);
    const double nats = mean_log_likelihood(model, x, log_z, device);
    const double sites = static_cast<double>(x.size(1));
    results.push_back({name, x.size(0), nats, -nats / (sites * std::log(2.0)),
                       independent.mean_log_likelihood(x)});
  }
  return results;
}

double quick_validation_likelihood(EnergyModel& model, const Sampler& sampler, const Dataset& data,
                                   uint64_t seed, torch::Device device) {
  require(data.validation.defined() && data.validation.size(0) > 0,
          "--evaluate-every needs validation images; {} has none", data.name);
  const Factorised start = annealing_start(model, &data, device);
  AisOptions options;
  options.chains = kQuickChains;
  options.temperatures = kQuickTemperatures;
  options.seed = seed;
  AnnealedImportanceSampling annealing(model, sampler, start, options, device);
  const double log_z = annealing.run().log_z;
  const int64_t count = std::min(kQuickImages, data.validation.size(0));
  const torch::Tensor x =
      binarise_once(data.validation.narrow(0, 0, count), data.levels, /*validation*/ 1);
  return mean_log_likelihood(model, x, log_z, device);
}

}  // namespace isinglass
