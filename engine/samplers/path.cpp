// Implements the samplers gwg, pafs and nb, and the steps on lattices that all path samplers share.
#include "engine/samplers/path.h"

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

struct PathScratch : SamplerScratch {
  ops::PathBuffers paths;
  std::optional<ops::LatticePaths> local;
};

template <PathRule rule>
std::unique_ptr<Sampler> make(const SamplerOptions& options, const EnergyModel& model) {
  return std::make_unique<PathSampler>(rule, path_radius(options, model), options.balancing);
}

double most_distinct(const SamplerOptions&, const EnergyModel& model) {
  return static_cast<double>(model.space().sites + 1) / 2;
}

void check_distinct_sites(const SamplerOptions& options, const EnergyModel& model) {
  const double most = most_distinct(options, model);
  require_option(
      *options.radius <= most, "radius", *options.radius,
      "nb moves up to 2R - 1 distinct sites, but the model has {}; at most {} is allowed",
      model.space().sites, most);
}

std::vector<SamplerOptionUse> distinct_options() {
  std::vector<SamplerOptionUse> options = path_options(5);
  options.front().largest = most_distinct;
  return options;
}

// Returns true if most pairs of sites are neighbours. A fused lattice step re-evaluates the
// neighbours of every moved site, each over its own neighbours, one chain after another. In such a
// graph these are all sites, and a full evaluation is faster because it treats eight chains at
// once.
bool mostly_neighbours(const ops::LatticeTensors& lattice) {
  const int64_t sites = lattice.unary.size(0);
  return 2 * lattice.neighbour.size(0) > sites * sites;
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

std::optional<ops::LatticePaths> local_paths(const EnergyModel& model, ChainState& state,
                                             PathRule rule, Balancing balancing,
                                             int64_t max_length) {
  const LocalTable what =
      state.current.differences.defined() ? LocalTable::kDifferences : LocalTable::kGradient;
  const LocalSteps at = model.local_steps(state.current);
  if (!at.lattice) return {};
  const ops::LatticeTensors& lattice = at.lattice->lattice(state.x.device());
  if (!ops::LatticePaths::fit(lattice, what, state.x, at.table)) return {};
  if (state.x.is_cpu() && mostly_neighbours(lattice)) return {};
  state.workspace.y.copy_(state.x);
  state.workspace.proposed = {};
  return ops::LatticePaths::create(what, rule, balancing, state.x, at.table, at.beta, max_length,
                                   state.x.is_cuda() ? kStepsALaunch : 1);
}

int64_t local_steps_at_once(const std::optional<ops::LatticePaths>& local) {
  return local ? local->buffers.length.size(0) : 1;
}

void local_steps(EnergyModel& model, ChainState& state, StepParams& params,
                 const torch::Tensor& radius, ops::LatticePaths& paths, int64_t n) {
  LocalSteps at = model.local_steps(state.current);
  ops::lattice_path_step(at.lattice->lattice(state.x.device()), n, params.rng, state.chain_ids,
                         radius, at.beta, state.x, state.workspace.y, at.table, at.energy, paths,
                         state.statistics);
  model.finish_local_steps(state.current);
  params.advance(n);
}

void forget_local(ChainState& state, const torch::Tensor& chains, ops::LatticePaths& paths) {
  if (!state.x.is_cpu()) return;  // fused lattice steps cache nothing between calls on a GPU
  state.workspace.y.index_copy_(0, chains, state.x.index_select(0, chains));
  paths.kept_beta.index_fill_(0, chains, std::nan(""));
}

void PathSampler::prepare(const EnergyModel& model, ChainState& state) const {
  auto scratch = std::make_shared<PathScratch>();
  state.workspace.scratch = scratch;
  scratch->local = local_paths(model, state, rule_, balancing_, longest_path(radius_));
  if (scratch->local) return;
  scratch->paths = ops::PathBuffers::create(state.chains(), state.sites(), longest_path(radius_),
                                            state.x.device());
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

void PathSampler::refresh_cache(const EnergyModel& model, ChainState& state) const {
  if (!state.x.is_cpu()) return;  // fused lattice steps cache nothing between calls on a GPU
  static_cast<PathScratch&>(*state.workspace.scratch).local =
      local_paths(model, state, rule_, balancing_, longest_path(radius_));
}

void PathSampler::states_replaced(ChainState& state, const torch::Tensor& chains) const {
  auto& scratch = static_cast<PathScratch&>(*state.workspace.scratch);
  if (scratch.local) forget_local(state, chains, *scratch.local);
}

bool PathSampler::reads_table(const ChainState& state) const {
  return !static_cast<PathScratch&>(*state.workspace.scratch).local;
}

StepInfo PathSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = static_cast<PathScratch&>(*workspace.scratch);
  ops::PathBuffers& paths = scratch.paths;
  if (scratch.local) return steps(model, state, params, 1);
  const int64_t categories = model.space().categories;
  ops::draw_path(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale,
                 categories, rule_, balancing_, workspace.y, paths, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_path(workspace.y, workspace.proposed.gradient, categories, rule_, balancing_, paths,
                  workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
}

StepInfo PathSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                            int64_t n) const {
  auto& scratch = static_cast<PathScratch&>(*state.workspace.scratch);
  if (!scratch.local || n > local_steps_at_once(scratch.local)) {
    return Sampler::steps(model, state, params, n);
  }
  local_steps(model, state, params, params.scale, *scratch.local, n);
  return {.evaluations = n};
}

int64_t PathSampler::steps_at_once(const ChainState& state) const {
  return local_steps_at_once(static_cast<PathScratch&>(*state.workspace.scratch).local);
}

std::vector<SamplerEntry> path_samplers() {
  const std::vector<StateKind> kinds = {StateKind::kBinary, StateKind::kCategorical,
                                        StateKind::kOrdered};
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
           .options = distinct_options(),
           .gradient = true,
           .make = make<PathRule::kNoBacktrack>,
           .check = check_distinct_sites}};
}

}  // namespace isinglass
