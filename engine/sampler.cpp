// What all samplers share: initial states, the evaluation of proposals, the accept step.
#include "engine/sampler.h"

#include "io/error.h"
#include "kernels/ops.h"

namespace isinglass {
namespace {

void evaluate(EnergyModel& model, const torch::Tensor& x, bool gradient, Evaluation& out) {
  if (gradient) {
    model.evaluate(x, out);
  } else {
    model.evaluate_energy(x, out);
  }
}

void require_finite(const torch::Tensor& values, const char* what) {
  const int64_t bad = values.numel() - torch::isfinite(values).sum().item<int64_t>();
  require(bad == 0, "the {} is not finite at {} of the {} initial values", what, bad,
          values.numel());
}

Evaluation empty_like(const Evaluation& e) {
  Evaluation out;
  out.energy = torch::empty_like(e.energy);
  if (e.gradient.defined()) out.gradient = torch::empty_like(e.gradient);
  for (const torch::Tensor& t : e.cache) out.cache.push_back(torch::empty_like(t));
  return out;
}

}  // namespace

ChainState Sampler::init(EnergyModel& model, const torch::Tensor& x,
                         const torch::Tensor& chain_ids) const {
  check_states(model.space(), x, "the initial states");
  ChainState state;
  state.x = x.clone(at::MemoryFormat::Contiguous);
  state.chain_ids = chain_ids.to(x.device(), torch::kInt64).contiguous();
  state.statistics = Statistics::create(x.size(0), x.device());
  evaluate(model, state.x, needs_gradient(), state.current);
  require_finite(state.current.energy, "energy");
  if (needs_gradient()) require_finite(state.current.gradient, "gradient");
  state.workspace.y = torch::empty_like(state.x);
  state.workspace.proposed = empty_like(state.current);
  prepare(model, state);
  return state;
}

void Sampler::evaluate_proposal(EnergyModel& model, ChainState& state) const {
  evaluate(model, state.workspace.y, needs_gradient(), state.workspace.proposed);
}

void Sampler::accept(ChainState& state, StepParams& params) {
  const Workspace& workspace = state.workspace;
  const Evaluation &current = state.current, &proposed = workspace.proposed;
  c10::SmallVector<torch::Tensor, 8> to{state.x, current.energy},
      from{workspace.y, proposed.energy};
  if (current.gradient.defined()) {
    to.push_back(current.gradient);
    from.push_back(proposed.gradient);
  }
  to.append(current.cache.begin(), current.cache.end());
  from.append(proposed.cache.begin(), proposed.cache.end());
  ops::accept(current.energy, proposed.energy, workspace.log_forward, workspace.log_backward,
              params.rng, state.chain_ids, to, from, state.statistics);
  params.advance();
}

}  // namespace isinglass
