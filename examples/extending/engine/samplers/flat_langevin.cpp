// Implements flat-dlp by the kernels of dlp, which it gives α ∇U in place of ∇U.
#include "engine/samplers/flat_langevin.h"

#include "engine/registry.h"
#include "kernels/ops/jump.h"

namespace isinglass {
namespace {

constexpr double kLeastStepSize = 1e-6, kMostStepSize = 1e6;

struct FlatScratch : SamplerScratch {
  torch::Tensor alpha;      // float32 []
  torch::Tensor flattened;  // α ∇U, of the gradient's shape
};

std::unique_ptr<Sampler> make(const SamplerOptions& options, const EnergyModel&) {
  const Scale step_size{"step-size", *options.step_size, kLeastStepSize, kMostStepSize};
  return std::make_unique<FlatLangevinSampler>(step_size, *options.alpha);
}

}  // namespace

void FlatLangevinSampler::prepare(const EnergyModel&, ChainState& state) const {
  auto scratch = std::make_shared<FlatScratch>();
  scratch->alpha = torch::full({}, alpha_, state.current.gradient.options());
  scratch->flattened = torch::empty_like(state.current.gradient);
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo FlatLangevinSampler::step(EnergyModel& model, ChainState& state,
                                   StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& scratch = static_cast<FlatScratch&>(*workspace.scratch);
  const int64_t categories = model.space().categories;
  at::mul_out(scratch.flattened, state.current.gradient, scratch.alpha);
  ops::draw_jump(state.x, scratch.flattened, params.rng, state.chain_ids, params.scale, categories,
                 JumpRule::kLangevin, Balancing::kSqrt, workspace.y, workspace.log_forward);
  evaluate_proposal(model, state);
  at::mul_out(scratch.flattened, workspace.proposed.gradient, scratch.alpha);
  ops::score_jump(workspace.y, scratch.flattened, state.x, params.scale, categories,
                  JumpRule::kLangevin, Balancing::kSqrt, workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
}

std::vector<SamplerEntry> flat_langevin_samplers() {
  std::vector<SamplerOptionUse> options = {
      {.name = "step-size", .initial = 0.2, .least = kLeastStepSize, .most = kMostStepSize},
      {.name = "alpha", .initial = 0.5, .least = 0, .most = 1, .above_least = true}};
  for (SamplerOptionUse& use : adaptation_options(0.574)) options.push_back(std::move(use));
  return {{.name = "flat-dlp",
           .summary = "discrete Langevin proposal along a part alpha of the gradient",
           .paper = "docs/howto/extending.md",
           .needs = "gradient",
           .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
           .options = options,
           .gradient = true,
           .make = make}};
}

}  // namespace isinglass
