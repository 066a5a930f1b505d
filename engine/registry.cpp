// The samplers by name: one line each, from which --list, the checks and the documentation are
// made.
#include "models/registry.h"

#include <fmt/ranges.h>

#include <cmath>

#include "engine/sampler.h"
#include "engine/samplers/gibbs.h"
#include "engine/samplers/path.h"
#include "engine/samplers/random_walk.h"
#include "io/error.h"

namespace isinglass {
namespace {

constexpr double kLargestRadius = 65536;  // paths are buffered: 2R − 1 moves a chain

std::unique_ptr<Sampler> make_rwm(const SamplerOptions& o) {
  return std::make_unique<RandomWalkSampler>(o.radius);
}
std::unique_ptr<Sampler> make_gibbs(const SamplerOptions& o) {
  return std::make_unique<GibbsSampler>(o.scan);
}
std::unique_ptr<Sampler> make_gwg(const SamplerOptions& o) {
  return std::make_unique<PathSampler>(PathRule::kFrozen, o.radius, o.balancing);
}
std::unique_ptr<Sampler> make_pafs(const SamplerOptions& o) {
  return std::make_unique<PathSampler>(PathRule::kLinearised, o.radius, o.balancing);
}

std::string names_that_work(const EnergyModel& model) {
  std::string names;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (entry.gradient && !model.differentiable()) continue;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return names;
}

void check_radius(const SamplerEntry& entry, double radius, int64_t sites) {
  require(std::isfinite(radius) && radius >= 1 && radius <= kLargestRadius,
          "--radius is {}; {} takes R from 1 to {}", radius, entry.name, kLargestRadius);
  require(entry.real_radius || radius == std::floor(radius),
          "--radius is {}; {} takes a whole number", radius, entry.name);
  require(entry.real_radius || radius <= sites,
          "--radius is {}; {} moves that many distinct sites, and the model has {}", radius,
          entry.name, sites);
}

}  // namespace

const std::vector<SamplerEntry>& sampler_registry() {
  static const std::vector<SamplerEntry> entries = {
      {"rwm", "random walk: R distinct uniform sites to uniform other values", "nothing",
       "binary, categorical", "radius (whole number, 1 to D)", "Metropolis et al. 1953", 1, false,
       false, make_rwm},
      {"gibbs", "one site from its exact conditional", "conditionals, or K - 1 model calls",
       "binary, categorical", "scan (random, systematic)", "Geman & Geman 1984", 0, false, false,
       make_gibbs},
      {"gwg", "Gibbs with gradients: sites from first-order weights at x", "gradient",
       "binary, categorical", "radius (real, >= 1), balancing", "Grathwohl et al. 2021", 1, true,
       true, make_gwg},
      {"pafs", "path auxiliary fast sampler: a path of first-order moves", "gradient",
       "binary, categorical", "radius (real, >= 1), balancing", "Sun et al. 2022", 5, true, true,
       make_pafs},
  };
  return entries;
}

const SamplerEntry& find_sampler(const std::string& name) {
  std::vector<std::string> names;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail("unknown sampler '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model) {
  const SamplerEntry& entry = find_sampler(name);
  const StateSpace space = model.space();
  const bool fits = space.kind == StateKind::kBinary || space.kind == StateKind::kCategorical;
  require(fits && (!entry.gradient || model.differentiable()),
          "sampler {} does not fit model {}; these do: {}", name, model.kind_name(),
          fits ? names_that_work(model) : "none");
  SamplerOptions resolved = options;
  if (entry.default_radius > 0) {
    if (resolved.radius == 0) resolved.radius = entry.default_radius;
    check_radius(entry, resolved.radius, space.sites);
  }
  return entry.make(resolved);
}

}  // namespace isinglass
