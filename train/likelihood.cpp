// Implements log-likelihoods of data sets.
#include "train/likelihood.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/stop_consensus.h"
#include "io/error.h"
#include "models/combined/residual.h"
#include "models/energies.h"

namespace isinglass {
namespace {

// Returns the mean of U over the rows of x; nothing if `stop` became true on a rank. Throws
// NumericalError, naming the split and the row, if a value is not finite.
std::optional<double> mean_energy(EnergyModel& model, const torch::Tensor& x,
                                  const std::string& split, torch::Device device,
                                  const Ranks& ranks, const std::function<bool()>& stop = {}) {
  const bool shared = x.size(0) >= ranks.size();
  const torch::Tensor mine = shared ? ranks.shard(x.size(0)).of(x) : x;
  const torch::Tensor own = energies(model, mine, device, stop);
  if (stop && ranks.any(own.size(0) < mine.size(0))) return std::nullopt;
  const torch::Tensor energy = shared ? ranks.gather(own) : own;
  const torch::Tensor bad = torch::isfinite(energy).logical_not().nonzero();
  if (bad.size(0) > 0) {
    const int64_t row = bad[0][0].item<int64_t>();
    throw NumericalError(fmt::format(
        "the energy of row {} of the {} images is {}; in all, {} of {} energies are not finite",
        row, split, energy[row].item<double>(), bad.size(0), energy.size(0)));
  }
  return energy.mean().item<double>();
}

// Returns the mean log density of the rows of x under independent normal sites with the means and
// variances of the rows of `train`; NaN if a variance is 0.
double mean_log_normal(const torch::Tensor& x, const torch::Tensor& train) {
  const torch::Tensor fitted = train.to(torch::kFloat64);
  const torch::Tensor variance = fitted.var(0, /*unbiased=*/false);
  const torch::Tensor deviation = x.to(torch::kFloat64) - fitted.mean(0);
  return (-0.5 * (deviation.square() / variance + (2 * M_PI * variance).log()))
      .sum(1)
      .mean()
      .item<double>();
}

// Returns the mean of U over the validation images.
double validation_energy(EnergyModel& model, const Dataset& data, int64_t images,
                         torch::Device device, const Ranks& ranks) {
  require_options(data.validation.defined() && data.validation.size(0) > 0,
                  "`evaluate-every` needs validation images; {} has none", data.name);
  const int64_t count = std::min(images, data.validation.size(0));
  const torch::Tensor x =
      binarise_once(data.validation.narrow(0, 0, count), data.values, /*validation*/ 1);
  return *mean_energy(model, x, "validation", device, ranks);
}

}  // namespace

Factorised annealing_start(const EnergyModel& model, const Dataset* data, torch::Device device,
                           const std::optional<double>& scale) {
  const StateSpace space = model.space();
  if (const std::optional<Bounds> bounds = bounds_of(model)) {
    require_options(!scale,
                    "`start-scale` cannot be combined with `bounds`, within which {} starts at "
                    "uniform states",
                    model.title());
    return Factorised::box(space.sites, *bounds, device);
  }
  if (!space.discrete()) return Factorised::normal(space.sites, scale.value_or(1), device);
  require_options(!scale, "`start-scale` requires continuous states, which {} does not have",
                  model.title());
  if (const auto* residual = dynamic_cast<const ResidualModel*>(&model)) {
    const std::optional<KnownLogZ> log_z = residual->base_log_z();
    return Factorised::base(residual->base_model(), log_z ? log_z->value : std::nan(""));
  }
  const torch::Tensor base = model.base_mean();
  if (base.defined()) return Factorised::independent(base.to(device));
  if (data) return Factorised::independent(clamped_mean(*data).to(device));
  return Factorised::uniform(model.space(), device);
}

double bits_per_dim(double nats, int64_t sites) {
  return -nats / (static_cast<double>(sites) * std::log(2.0));
}

SplitLikelihood SplitEnergy::at(const LogZBounds& log_z, const BracketVerdict& verdict) const {
  LikelihoodBounds bounds{nats(log_z.forward)};
  if (log_z.reverse) bounds.reverse = nats(*log_z.reverse);
  if (log_z.both) bounds.both = nats(*log_z.both);
  if (const std::optional<ErrorInterval> range = log_z.interval()) {
    bounds.interval = ErrorInterval{nats(range->high), nats(range->low)};
  }
  const double quoted = bounds.quoted(verdict);
  return {split,       bounds,
          quoted,      isinglass::bits_per_dim(quoted, sites),
          independent, isinglass::bits_per_dim(independent, sites),
          points};
}

std::optional<std::vector<SplitEnergy>> split_energies(EnergyModel& model, const Dataset& data,
                                                       torch::Device device, const Ranks& ranks,
                                                       const std::function<bool()>& stop) {
  const bool points = data.values == PixelValues::kReal;
  const std::optional<Bounds> bounds = bounds_of(model);
  std::optional<Factorised> pixels;
  if (!points) pixels = Factorised::independent(clamped_mean(data));
  const std::pair<const char*, const torch::Tensor*> splits[] = {
      {"train", &data.train}, {"validation", &data.validation}, {"test", &data.test}};
  std::vector<SplitEnergy> results;
  for (uint64_t i = 0; i < std::size(splits); ++i) {
    const auto& [name, images] = splits[i];
    if (!images->defined() || images->size(0) == 0) continue;
    if (images == &data.train && data.missing.defined()) continue;
    const torch::Tensor x = binarise_once(*images, data.values, i);
    if (bounds) require_within(*bounds, x, fmt::format("the {} points", name));
    const std::optional<double> mean = mean_energy(model, x, name, device, ranks, stop);
    if (!mean) return std::nullopt;
    results.push_back({name, x.size(1), *mean,
                       pixels ? pixels->mean_log_likelihood(x) : mean_log_normal(x, data.train),
                       points});
  }
  if (results.empty()) require_complete(data, "a likelihood without validation or test images");
  return results;
}

std::optional<ValidationScore> quick_validation_likelihood(
    EnergyModel& model, const Sampler& sampler, const Dataset& data,
    const ValidationOptions& options, torch::Device device, const std::function<bool()>& stop,
    const Ranks& all_ranks) {
  // If there are more ranks than chains, each rank computes the whole estimate.
  const Ranks& ranks = all_ranks.size() <= options.chains ? all_ranks : Ranks::single_process();
  const double energy = validation_energy(model, data, options.images, device, ranks);
  const Factorised start = annealing_start(model, &data, device);
  AnnealedImportanceSampling annealing(model, sampler, start,
                                       {.chains = options.chains,
                                        .temperatures = options.temperatures,
                                        .path = options.path,
                                        .seed = options.seed,
                                        .stream = RandomStream::kValidation},
                                       device, ranks);
  StopConsensus stop_consensus(all_ranks);
  const AisResult ais =
      annealing.run({}, [&] { return stop_consensus({.stop = stop && stop()}).stop; });
  if (!ais.finished) return std::nullopt;
  return ValidationScore{-energy - ais.log_z, ais.weight_ess,
                         weights_warning(ais.weight_ess, options.chains)};
}

ValidationScore weighted_validation_likelihood(ResidualModel& model, const BaseDraws& draws,
                                               const Dataset& data,
                                               const ValidationOptions& options,
                                               torch::Device device, const Ranks& ranks) {
  const double energy = validation_energy(model, data, options.images, device, ranks);
  const KnownLogZ base = *model.base_log_z();
  const BaseWeights weights = draws.weigh(model);
  if (!std::isfinite(weights.log_ratio)) {
    throw NumericalError("the energies of draws of the base are not finite");
  }
  const double error = std::isnan(base.standard_error)
                           ? weights.standard_error
                           : std::hypot(weights.standard_error, base.standard_error);
  return {-energy - base.value - weights.log_ratio, weights.ess,
          weights_warning(weights.ess, weights.draws), error};
}

}  // namespace isinglass
