// See path.h.
#include "engine/samplers/path.h"

#include <cmath>

#include "kernels/ops.h"

namespace isinglass {
namespace {

struct PathScratch : SamplerScratch {
  ops::PathBuffers paths;
};

}  // namespace

void PathSampler::prepare(const EnergyModel&, ChainState& state) const {
  const auto max_length = static_cast<int64_t>(std::ceil(2 * radius_ - 1));
  auto scratch = std::make_shared<PathScratch>();
  scratch->paths =
      ops::PathBuffers::create(state.chains(), state.sites(), max_length, state.x.device());
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo PathSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  ops::PathBuffers& paths = static_cast<PathScratch&>(*workspace.scratch).paths;
  ops::draw_path(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale, rule_,
                 balancing_, workspace.y, paths, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_path(workspace.y, workspace.proposed.gradient, rule_, balancing_, paths,
                  workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
}

}  // namespace isinglass
