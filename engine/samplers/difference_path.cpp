// See difference_path.h.
#include "engine/samplers/difference_path.h"

#include "engine/samplers/path.h"
#include "io/error.h"
#include "kernels/ops/difference_path.h"

namespace isinglass {
namespace {

// What a block's shared memory holds the sums of, on every GPU of the supported kinds.
constexpr int64_t kMostEntriesGpu = 1 << 16;

struct DifferencePathScratch : SamplerScratch {
  ops::DifferencePathBuffers paths;
  torch::Tensor one;      // float64 [1]: R of a single move
  torch::Tensor longest;  // int32 []
  std::optional<ops::LocalPaths> local;
};

}  // namespace

std::vector<Scale> DifferencePathSampler::scales() const {
  return radius_ ? std::vector<Scale>{*radius_} : std::vector<Scale>{};
}

void DifferencePathSampler::prepare(const EnergyModel& model, ChainState& state) const {
  const torch::Tensor& differences = state.current.differences;
  require(!differences.is_cuda() || differences.size(1) <= kMostEntriesGpu,
          "a state has {} sites or pairs to move; a GPU takes {} at most", differences.size(1),
          kMostEntriesGpu);
  auto scratch = std::make_shared<DifferencePathScratch>();
  state.workspace.scratch = scratch;
  scratch->one = torch::ones({1}, state.current.energy.options());
  scratch->longest = torch::ones({}, state.x.options().dtype(torch::kInt32));
  renew_kept(model, state);
  if (scratch->local) return;
  scratch->paths = ops::DifferencePathBuffers::create(differences);
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

void DifferencePathSampler::renew_kept(const EnergyModel& model, ChainState& state) const {
  static_cast<DifferencePathScratch&>(*state.workspace.scratch).local = local_paths(
      model, state, PathRule::kLinearised, balancing_, radius_ ? longest_path(*radius_) : 1);
}

StepInfo DifferencePathSampler::step(EnergyModel& model, ChainState& state,
                                     StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = static_cast<DifferencePathScratch&>(*workspace.scratch);
  const int64_t max_length = radius_ ? longest_path(*radius_) : 1;
  const torch::Tensor& radius = radius_ ? params.scale : scratch.one;
  const auto longest_drawn = [&](const torch::Tensor& length) -> int64_t {
    return max_length == 1 ? 1 : at::amax_out(scratch.longest, length, {0}).item<int>();
  };
  if (scratch.local) {
    local_step(model, state, params, radius, *scratch.local);
    return {.evaluations = longest_drawn(scratch.local->buffers.length)};
  }
  const auto follow = [&](int64_t position, const torch::Tensor& differences) {
    ops::follow_path(differences, params.rng, state.chain_ids, radius, position, max_length,
                     balancing_, workspace.y, scratch.paths, workspace.log_forward,
                     workspace.log_backward);
  };
  workspace.y.copy_(state.x);
  follow(0, state.current.differences);
  const int64_t length = longest_drawn(scratch.paths.length);
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
       .needs = "differences, or a model call a neighbour",
       .kinds = kinds,
       .options = {balancing_option()},
       .gradient = false,
       .make = [](const SamplerOptions& options, const EnergyModel&) -> std::unique_ptr<Sampler> {
         return std::make_unique<DifferencePathSampler>(std::nullopt, options.balancing);
       }},
      {.name = "pas",
       .summary = "path auxiliary sampler: a path of moves from exact weights",
       .paper = "Sun et al. 2022",
       .needs = "differences along the path, or a model call a neighbour",
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
