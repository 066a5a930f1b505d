// Implements the samplers gwg, pafs and nb, and their entries in the registry.
#include "engine/samplers/path.h"

#include <cmath>

#include "engine/registry.h"
#include "engine/samplers/lattice_path.h"
#include "io/error.h"

namespace isinglass {
namespace {

struct PathScratch : SamplerScratch {
  ops::PathBuffers paths;
};

template <PathRule rule>
std::unique_ptr<Sampler> make_path(const SamplerOptions& options, const EnergyModel& model) {
  return std::make_unique<PathSampler>(rule, path_radius(options, model), options.balancing);
}

template <PathRule rule>
std::unique_ptr<Sampler> make_path_on_lattice(const SamplerOptions& options,
                                              const EnergyModel& model) {
  return make_lattice_path(model, LocalTable::kGradient, rule, path_radius(options, model),
                           options.balancing);
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

void PathSampler::prepare(const EnergyModel&, ChainState& state) const {
  auto scratch = std::make_shared<PathScratch>();
  scratch->paths = ops::PathBuffers::create(state.chains(), state.sites(), longest_path(radius_),
                                            state.x.device());
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo PathSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  ops::PathBuffers& paths = scratch_of<PathScratch>(workspace).paths;
  const int64_t categories = model.space().categories;
  ops::draw_path(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale,
                 categories, rule_, balancing_, workspace.y, paths, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_path(workspace.y, workspace.proposed.gradient, categories, rule_, balancing_, paths,
                  workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
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
           .make = make_path<PathRule::kFrozen>,
           .make_on_lattice = make_path_on_lattice<PathRule::kFrozen>},
          {.name = "pafs",
           .summary = "path auxiliary fast sampler: a path of first-order moves",
           .paper = "Sun et al. 2022",
           .needs = "gradient",
           .kinds = kinds,
           .options = path_options(5),
           .gradient = true,
           .make = make_path<PathRule::kLinearised>,
           .make_on_lattice = make_path_on_lattice<PathRule::kLinearised>},
          {.name = "nb",
           .summary = "no backtracking: a path of first-order moves of distinct sites",
           .paper = "Sun et al. 2022",
           .needs = "gradient",
           .kinds = kinds,
           .options = distinct_options(),
           .gradient = true,
           .make = make_path<PathRule::kNoBacktrack>,
           .make_on_lattice = make_path_on_lattice<PathRule::kNoBacktrack>,
           .check = check_distinct_sites}};
}

}  // namespace isinglass
