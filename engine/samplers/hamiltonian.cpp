// Implements the Hamiltonian samplers and their entries in the registry.
#include "engine/samplers/hamiltonian.h"

#include <algorithm>
#include <limits>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/hamiltonian.h"
#include "models/bounds.h"

namespace isinglass {
namespace {

constexpr double kLeastStep = 1e-12, kMostStep = 1e6;  // range in which the step size adapts
// The largest mass, pull, group size and number of leapfrog steps.
constexpr double kMost = 1e6;
// Marks a momentum that is to be drawn afresh, because there is none of an earlier step.
constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct TrajectoryScratch : SamplerScratch {
  torch::Tensor momentum;  // float64 [B, D]
};

// Reads the options. Options that a sampler does not read keep their defaults, so that ula and mala
// make one leapfrog step.
HamiltonianOptions hamiltonian_options(const SamplerOptions& options) {
  HamiltonianOptions result;
  result.leapfrog = static_cast<int64_t>(options.leapfrog.value_or(1));
  result.mass = *options.mass;
  result.damping = *options.damping;
  result.unadjusted = options.always_accept;
  result.pull = options.pull.value_or(0);
  if (result.pull > 0) result.group = static_cast<int64_t>(*options.group);
  result.elastic_energy = options.elastic_energy && result.group > 1;
  return result;
}

template <bool tested>
std::unique_ptr<Sampler> make_trajectory(const SamplerOptions& options, const EnergyModel&) {
  HamiltonianOptions settings = hamiltonian_options(options);
  settings.unadjusted = settings.unadjusted || !tested;
  const double step = *options.step_size;
  return std::make_unique<HamiltonianSampler>(
      settings, Scale{"step-size", step, std::min(step, kLeastStep), kMostStep});
}

void check_trajectory(const SamplerOptions& options, const EnergyModel&) {
  require_options(*options.damping < 1,
                  "`damping` is 1; it must be below 1, because momenta would never be drawn");
  require_options(!options.adapt || !options.always_accept,
                  "`adapt` aims at a mean acceptance, which `always-accept` does not have; only "
                  "one of them can be given");
}

std::vector<SamplerOptionUse> momentum_options() {
  return {{.name = "step-size", .initial = 0.1, .least = 0, .most = kMostStep, .above_least = true},
          {.name = "mass", .initial = 1, .least = 0, .most = kMost, .above_least = true},
          {.name = "damping", .initial = 0, .least = 0, .most = 1}};
}

SamplerEntry entry(const char* name, const char* summary, const char* paper, bool trajectory,
                   double target) {
  SamplerEntry entry{.name = name,
                     .summary = summary,
                     .paper = paper,
                     .needs = "gradient",
                     .kinds = {StateKind::kContinuous},
                     .options = momentum_options(),
                     .gradient = true,
                     .make = target > 0 ? make_trajectory<true> : make_trajectory<false>,
                     .check = check_trajectory};
  if (trajectory) {
    entry.options.push_back(
        {.name = "leapfrog", .initial = 8, .least = 1, .most = kMost, .whole = true});
  }
  if (target > 0) {
    entry.options.push_back({.name = "always-accept"});
    for (SamplerOptionUse& use : adaptation_options(target)) {
      entry.options.push_back(std::move(use));
    }
  }
  return entry;
}

}  // namespace

HamiltonianSampler::HamiltonianSampler(const HamiltonianOptions& options, Scale step_size)
    : options_(options), step_size_(std::move(step_size)) {}

torch::Tensor& HamiltonianSampler::momentum(ChainState& state) {
  return scratch_of<TrajectoryScratch>(state.workspace).momentum;
}

void HamiltonianSampler::prepare(const EnergyModel& model, ChainState& state) const {
  if (const auto bounds = bounds_of(model)) {
    require_within(*bounds, state.x, "the initial states");
  }
  require_option(state.chains() % options_.group == 0, "chains", state.chains(),
                 "it must be a multiple of `group` {}", options_.group);
  auto scratch = std::make_shared<TrajectoryScratch>();
  const auto real = state.current.energy.options();
  scratch->momentum = torch::zeros(state.x.sizes(), real);
  Workspace& workspace = state.workspace;
  if (options_.damping > 0) {
    workspace.cache = torch::full(state.x.sizes(), kNotMeasured, real);
    workspace.proposed_cache = scratch->momentum;
  }
  workspace.log_forward = torch::zeros_like(state.current.energy);
  workspace.log_backward = torch::zeros_like(state.current.energy);
  workspace.scratch = std::move(scratch);
}

// Discards the momenta of the previous chains, so that the next step draws them afresh.
void HamiltonianSampler::refresh_cache(const EnergyModel&, ChainState& state) const {
  if (state.workspace.cache.defined()) state.workspace.cache.fill_(kNotMeasured);
}

void HamiltonianSampler::refresh(ChainState& state, const StepParams& params) const {
  auto& scratch = scratch_of<TrajectoryScratch>(state.workspace);
  ops::refresh_momentum({options_.group, options_.mass}, params.rng, state.chain_ids,
                        options_.damping, state.workspace.cache, scratch.momentum);
}

void HamiltonianSampler::integrate(EnergyModel& model, ChainState& state,
                                   const StepParams& params) const {
  auto& scratch = scratch_of<TrajectoryScratch>(state.workspace);
  Workspace& workspace = state.workspace;
  const ops::Particles particles{options_.group, options_.mass};
  const auto forces = [&](const torch::Tensor& x, const Evaluation& at) {
    return ops::Forces{x, at.gradient, options_.group > 1 ? at.energy : torch::Tensor(),
                       options_.pull};
  };
  const bool elastic = options_.elastic_energy;
  const std::optional<Bounds> bounds = bounds_of(model);
  ops::kick_and_drift(particles, forces(state.x, state.current), params.scale, 0.5, 1,
                      scratch.momentum, workspace.y, {workspace.log_forward, {}, elastic});
  if (bounds) reflect(*bounds, workspace.y, scratch.momentum);
  for (int64_t l = 1; l <= options_.leapfrog; ++l) {
    evaluate_proposal(model, state);
    const bool last = l == options_.leapfrog;
    ops::kick_and_drift(particles, forces(workspace.y, workspace.proposed), params.scale,
                        last ? 0.5 : 1, last ? 0 : 1, scratch.momentum, workspace.y,
                        {{}, last ? workspace.log_backward : torch::Tensor(), elastic});
    if (bounds && !last) reflect(*bounds, workspace.y, scratch.momentum);
  }
}

StepInfo HamiltonianSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  refresh(state, params);
  integrate(model, state, params);
  accept(state, params, options_.unadjusted, options_.group);
  return {.evaluations = options_.leapfrog};
}

std::vector<SamplerEntry> hamiltonian_samplers() {
  std::vector<SamplerEntry> entries = {
      entry("ula", "Langevin steps without a Metropolis test: not exact", "Parisi 1981", false, 0),
      entry("mala", "Langevin steps with a Metropolis test", "Roberts & Tweedie 1996", false,
            0.574),
      entry("uhmc", "Hamiltonian trajectories without a Metropolis test: not exact",
            "Duane et al. 1987", true, 0),
      entry("hmc", "Hamiltonian trajectories with a Metropolis test", "Duane et al. 1987", true,
            0.651),
      entry(
          "fhl",
          "Hamiltonian trajectories of groups of particles, each pulled towards its group's leader",
          "Follow Hamiltonian Leader", true, 0.651)};
  std::vector<SamplerOptionUse>& options = entries.back().options;
  options.push_back({.name = "pull", .initial = 1, .least = 0, .most = kMost});
  options.push_back({.name = "group", .initial = 4, .least = 1, .most = kMost, .whole = true});
  options.push_back({.name = "elastic-energy"});
  return entries;
}

}  // namespace isinglass
