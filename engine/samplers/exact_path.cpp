// Implements the samplers lb and pas, and their entries in the registry.
#include "engine/samplers/exact_path.h"

#include "engine/registry.h"
#include "engine/samplers/path.h"
#include "kernels/ops/path.h"

namespace isinglass {
namespace {

struct DifferencePathScratch : SamplerScratch {
  ops::ExactPathBuffers paths;
  torch::Tensor one;      // float64 [1]: R = 1 of a single move
  torch::Tensor longest;  // int32 [steps per call]: the longest path length of each step
  std::optional<ops::LatticePaths> local;
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

void DifferencePathSampler::prepare(const EnergyModel& model, ChainState& state) const {
  const torch::Tensor& differences = state.current.differences;
  auto scratch = std::make_shared<DifferencePathScratch>();
  state.workspace.scratch = scratch;
  scratch->one = torch::ones({1}, state.current.energy.options());
  scratch->local = local_paths(model, state, PathRule::kLinearised, balancing_, max_length());
  scratch->longest =
      torch::ones({local_steps_at_once(scratch->local)}, state.x.options().dtype(torch::kInt32));
  if (scratch->local) return;
  scratch->paths = ops::ExactPathBuffers::create(differences);
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

void DifferencePathSampler::refresh_cache(const EnergyModel& model, ChainState& state) const {
  if (!state.x.is_cpu()) return;  // fused lattice steps cache nothing between calls on a GPU
  static_cast<DifferencePathScratch&>(*state.workspace.scratch).local =
      local_paths(model, state, PathRule::kLinearised, balancing_, max_length());
}

void DifferencePathSampler::states_replaced(ChainState& state, const torch::Tensor& chains) const {
  auto& scratch = static_cast<DifferencePathScratch&>(*state.workspace.scratch);
  if (scratch.local) forget_local(state, chains, *scratch.local);
}

bool DifferencePathSampler::reads_table(const ChainState& state) const {
  return !static_cast<DifferencePathScratch&>(*state.workspace.scratch).local;
}

StepInfo DifferencePathSampler::step(EnergyModel& model, ChainState& state,
                                     StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = static_cast<DifferencePathScratch&>(*workspace.scratch);
  if (scratch.local) return steps(model, state, params, 1);
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

StepInfo DifferencePathSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                      int64_t n) const {
  auto& scratch = static_cast<DifferencePathScratch&>(*state.workspace.scratch);
  if (!scratch.local || n > local_steps_at_once(scratch.local)) {
    return Sampler::steps(model, state, params, n);
  }
  local_steps(model, state, params, radius_ ? params.scale : scratch.one, *scratch.local, n);
  if (max_length() == 1) return {.evaluations = n};
  torch::Tensor longest = scratch.longest.narrow(0, 0, n);
  at::amax_out(longest, scratch.local->buffers.length.narrow(0, 0, n), {1});
  return {.evaluations = (n == 1 ? longest : longest.sum()).item<int64_t>()};
}

int64_t DifferencePathSampler::steps_at_once(const ChainState& state) const {
  return local_steps_at_once(static_cast<DifferencePathScratch&>(*state.workspace.scratch).local);
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
       }}};
}

}  // namespace isinglass
