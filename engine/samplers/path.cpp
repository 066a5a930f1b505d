// See path.h.
#include "engine/samplers/path.h"

#include <cmath>

#include "io/error.h"
#include "models/lattice_model.h"

namespace isinglass {
namespace {

struct PathScratch : SamplerScratch {
  ops::PathBuffers paths;
  std::optional<ops::LocalPaths> local;
};

template <PathRule rule>
std::unique_ptr<Sampler> make(const SamplerOptions& options, const EnergyModel& model) {
  return std::make_unique<PathSampler>(rule, path_radius(options, model), options.balancing);
}

void check_distinct_sites(const SamplerOptions& options, const EnergyModel& model) {
  const int64_t sites = model.space().sites;
  require(2 * *options.radius - 1 <= static_cast<double>(sites),
          "--radius is {}; nb moves up to 2R - 1 distinct sites, and the model has {}: at most {}",
          *options.radius, sites, static_cast<double>(sites + 1) / 2);
}

}  // namespace

Scale path_radius(const SamplerOptions& options, const EnergyModel& model) {
  const double sites = static_cast<double>(model.space().sites);
  const double most = options.adapt ? std::max(*options.radius, (sites + 1) / 2) : *options.radius;
  return {"radius", *options.radius, 1, most};
}

int64_t longest_path(const Scale& radius) {
  return static_cast<int64_t>(std::ceil(2 * radius.most - 1));
}

std::vector<SamplerOptionUse> path_options(double radius) {
  std::vector<SamplerOptionUse> options = radius_option(radius, /*whole=*/false);
  options.push_back(balancing_option());
  for (SamplerOptionUse& use : adaptation_options(0.574)) options.push_back(std::move(use));
  return options;
}

std::optional<ops::LocalPaths> local_paths(const EnergyModel& model, ChainState& state,
                                           PathRule rule, Balancing balancing, int64_t max_length) {
  if (!state.x.is_cpu() || !dynamic_cast<const LatticeModel*>(&model)) return {};
  state.workspace.y.copy_(state.x);
  state.workspace.proposed = {};
  const bool exact = state.current.differences.defined();
  return ops::LocalPaths::create(
      exact ? SiteTable::kDifferences : SiteTable::kGradient, rule, balancing, state.x,
      exact ? state.current.differences : state.current.gradient, max_length);
}

void local_step(EnergyModel& model, ChainState& state, StepParams& params,
                const torch::Tensor& radius, ops::LocalPaths& paths) {
  Evaluation& current = state.current;
  ops::local_path_step(dynamic_cast<LatticeModel&>(model).lattice(state.x.device()), params.rng,
                       state.chain_ids, radius, state.x, state.workspace.y,
                       paths.what == SiteTable::kGradient ? current.gradient : current.differences,
                       current.energy, paths, state.statistics);
  params.advance();
}

void PathSampler::prepare(const EnergyModel& model, ChainState& state) const {
  auto scratch = std::make_shared<PathScratch>();
  state.workspace.scratch = scratch;
  renew_kept(model, state);
  if (scratch->local) return;
  scratch->paths = ops::PathBuffers::create(state.chains(), state.sites(), longest_path(radius_),
                                            state.x.device());
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

void PathSampler::renew_kept(const EnergyModel& model, ChainState& state) const {
  static_cast<PathScratch&>(*state.workspace.scratch).local =
      local_paths(model, state, rule_, balancing_, longest_path(radius_));
}

StepInfo PathSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = static_cast<PathScratch&>(*workspace.scratch);
  ops::PathBuffers& paths = scratch.paths;
  if (scratch.local) {
    local_step(model, state, params, params.scale, *scratch.local);
    return {.evaluations = 1};
  }
  ops::draw_path(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale, rule_,
                 balancing_, workspace.y, paths, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_path(workspace.y, workspace.proposed.gradient, rule_, balancing_, paths,
                  workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
}

std::vector<SamplerEntry> path_samplers() {
  const std::vector<StateKind> kinds = {StateKind::kBinary, StateKind::kCategorical};
  return {{.name = "gwg",
           .summary = "Gibbs with gradients: sites from first-order weights at x",
           .paper = "Grathwohl et al. 2021",
           .needs = "gradient",
           .kinds = kinds,
           .options = path_options(1),
           .gradient = true,
           .make = make<PathRule::kFrozen>},
          {.name = "pafs",
           .summary = "path auxiliary fast sampler: a path of first-order moves",
           .paper = "Sun et al. 2022",
           .needs = "gradient",
           .kinds = kinds,
           .options = path_options(5),
           .gradient = true,
           .make = make<PathRule::kLinearised>},
          {.name = "nb",
           .summary = "no backtracking: a path of first-order moves of distinct sites",
           .paper = "Sun et al. 2022",
           .needs = "gradient",
           .kinds = kinds,
           .options = path_options(5),
           .gradient = true,
           .make = make<PathRule::kNoBacktrack>,
           .check = check_distinct_sites}};
}

}  // namespace isinglass
