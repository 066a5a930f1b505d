// Implements the samplers lb and pas, and their entries in the registry.
#include "engine/samplers/exact_path.h"

#include "engine/registry.h"
#include "engine/samplers/lattice_path.h"
#include "engine/samplers/path.h"
#include "kernels/ops/path.h"

namespace isinglass {
namespace {

struct DifferencePathScratch : SamplerScratch {
  ops::ExactPathBuffers paths;
  torch::Tensor one;      // float64 [1]: R = 1 of a single move
  torch::Tensor longest;  // int32 [1]: the length of the longest path
};

}  // namespace

std::vector<Scale> DifferencePathSampler::scales() const {
  return radius_ ? std::vector<Scale>{*radius_} : std::vector<Scale>{};
}

int64_t DifferencePathSampler::max_length() const {
  return radius_ ? longest_path(*radius_) : 1;
}

bool DifferencePathSampler::needs_host_sync() const {
  return max_length() > 1;
}

void DifferencePathSampler::prepare(const EnergyModel&, ChainState& state) const {
  auto scratch = std::make_shared<DifferencePathScratch>();
  scratch->paths = ops::ExactPathBuffers::create(state.current.differences);
  scratch->one = torch::ones({1}, state.current.energy.options());
  scratch->longest = torch::ones({1}, state.x.options().dtype(torch::kInt32));
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo DifferencePathSampler::step(EnergyModel& model, ChainState& state,
                                     StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = scratch_of<DifferencePathScratch>(workspace);
  const torch::Tensor& radius = radius_ ? params.scale : scratch.one;
  const auto follow = [&](int64_t position, const torch::Tensor& differences) {
    ops::advance_exact_path(differences, params.rng, state.chain_ids, radius, position,
                            max_length(), balancing_, workspace.y, scratch.paths,
                            workspace.log_forward, workspace.log_backward);
  };
  workspace.y.copy_(state.x);
  follow(0, state.current.differences);
  const int64_t length =
      max_length() == 1
          ? 1
          : at::amax_out(scratch.longest, scratch.paths.length, {0}, /*keepdim=*/true).item<int>();
  StepInfo info;
  for (int64_t l = 1; l <= length; ++l) {
    info.evaluations += evaluate_proposal(model, state);
    follow(l, workspace.proposed.differences);
  }
  accept(state, params);
  return info;
}

std::vector<SamplerEntry> difference_path_samplers() {
  const std::vector<StateKind> kinds = {StateKind::kBinary, StateKind::kCategorical,
                                        StateKind::kOrdered, StateKind::kPermutation};
  return {
      {.name = "lb",
       .summary = "locally balanced: one move from exact weights of all neighbours",
       .paper = "Zanella 2020",
       .needs = "differences, or one model call per neighbour",
       .kinds = kinds,
       .options = {balancing_option()},
       .gradient = false,
       .make = [](const SamplerOptions& options, const EnergyModel&) -> std::unique_ptr<Sampler> {
         return std::make_unique<DifferencePathSampler>(std::nullopt, options.balancing);
       },
       .make_on_lattice =
           [](const SamplerOptions& options, const EnergyModel& model) {
             return make_lattice_path(model, LocalTable::kDifferences, PathRule::kLinearised,
                                      std::nullopt, options.balancing);
           }},
      {.name = "pas",
       .summary = "path auxiliary sampler: a path of moves from exact weights",
       .paper = "Sun et al. 2022",
       .needs = "differences along the path, or one model call per neighbour",
       .kinds = kinds,
       .options = path_options(5),
       .gradient = false,
       .make = [](const SamplerOptions& options,
                  const EnergyModel& model) -> std::unique_ptr<Sampler> {
         return std::make_unique<DifferencePathSampler>(path_radius(options, model),
                                                        options.balancing);
       },
       .make_on_lattice =
           [](const SamplerOptions& options, const EnergyModel& model) {
             return make_lattice_path(model, LocalTable::kDifferences, PathRule::kLinearised,
                                      path_radius(options, model), options.balancing);
           }}};
}

}  // namespace isinglass
