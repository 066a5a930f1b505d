// Implements random-walk Metropolis and its entry in the registry.
#include "engine/samplers/random_walk.h"

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/random.h"

namespace isinglass {
namespace {

// Returns true if R is the mean of a random number of sites, which allows real R: if it adapts, or
// if an earlier run has adapted it.
bool random_count(const SamplerOptions& options) {
  return options.adapt || (options.warm && *options.radius != std::floor(*options.radius));
}

void check_sites(const SamplerOptions& options, const EnergyModel& model) {
  require_option(random_count(options) || *options.radius == std::floor(*options.radius), "radius",
                 *options.radius, "rwm takes a whole number");
  require_option(*options.radius <= static_cast<double>(model.space().sites), "radius",
                 *options.radius, "rwm moves that many distinct sites, but the model has {}",
                 model.space().sites);
}

std::unique_ptr<Sampler> make_random_walk(const SamplerOptions& options, const EnergyModel& model) {
  const double radius = *options.radius, sites = static_cast<double>(model.space().sites);
  return std::make_unique<RandomWalkSampler>(random_count(options)
                                                 ? Scale{"radius", radius, 1, sites}
                                                 : Scale{"radius", radius, radius, radius});
}

}  // namespace

StepInfo RandomWalkSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  ops::flip_uniformly(state.x, params.rng, state.chain_ids, params.scale, model.space().categories,
                      /*random_count=*/radius_.most > radius_.least, state.workspace.y);
  evaluate_proposal(model, state);
  accept(state, params);
  return {.evaluations = 1};
}

std::vector<SamplerEntry> random_walk_samplers() {
  std::vector<SamplerOptionUse> options = radius_option(1, /*whole=*/false);
  for (SamplerOptionUse& use : adaptation_options(0.234)) options.push_back(std::move(use));
  return {{.name = "rwm",
           .summary = "random walk: R distinct uniform sites to uniform other values",
           .paper = "Metropolis et al. 1953",
           .needs = "nothing",
           .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
           .options = options,
           .gradient = false,
           .make = make_random_walk,
           .check = check_sites}};
}

}  // namespace isinglass
