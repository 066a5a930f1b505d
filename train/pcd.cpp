// See pcd.h.
#include "train/pcd.h"

#include "io/error.h"

namespace isinglass {
namespace {

// ½·E ‖∇_x U‖² at relaxed states, differentiable in the parameters.
torch::Tensor squared_gradient(const torch::Tensor& energy, const torch::Tensor& relaxed) {
  const torch::Tensor gradient = torch::autograd::grad({energy.sum()}, {relaxed}, {},
                                                       /*retain_graph=*/true,
                                                       /*create_graph=*/true)[0];
  return 0.5 * gradient.to(torch::kFloat64).square().sum() / gradient.size(0);
}

// init() refuses states at which U or its gradient is not finite. The buffer's states are valid, so
// here this can only mean that the parameters went astray.
ChainState start_chains(EnergyModel& model, const Sampler& sampler, const torch::Tensor& x,
                        const torch::Tensor& slots) {
  try {
    return sampler.init(model, x, slots);
  } catch (const Error& error) {
    throw NumericalError(error.what());
  }
}

PcdChains make_steps(EnergyModel& model, const Sampler& sampler, const torch::Tensor& x,
                     const torch::Tensor& slots, ReplayBuffer& buffer, int64_t iteration,
                     const PcdOptions& options) {
  ChainState state = start_chains(model, sampler, x, slots);
  StepParams params =
      sampler.params(options.seed, state.x.device(), (iteration - 1) * options.steps);
  for (int64_t step = 0; step < options.steps; ++step) sampler.step(model, state, params);
  buffer.write_back(slots, state.x);
  const double transitions = static_cast<double>(options.batch * options.steps);
  return {state.x, state.statistics.acceptance_sum.sum().item<double>() / transitions,
          state.statistics.hops_sum.sum().item<double>() / transitions};
}

}  // namespace

PcdLoss pcd_loss(EnergyModel& model, const torch::Tensor& data, const torch::Tensor& chains,
                 const PcdOptions& options) {
  torch::AutoGradMode with_grad(true);
  const bool control = options.p_control > 0;
  const torch::Tensor x = control ? data.to(torch::kFloat32).requires_grad_(true) : data;
  const torch::Tensor u_data = model.energy(x).to(torch::kFloat64);
  const torch::Tensor u_chains = model.energy(chains).to(torch::kFloat64);
  PcdLoss result{{}, u_data.mean(), u_chains.mean()};
  result.loss = result.energy_data - result.energy_model;
  if (options.l2 > 0) {
    result.loss = result.loss + options.l2 * (u_data.square().mean() + u_chains.square().mean());
  }
  if (control) result.loss = result.loss + options.p_control * squared_gradient(u_data, x);
  return result;
}

PcdChains advance_chains(EnergyModel& model, const Sampler& sampler, ReplayBuffer& buffer,
                         int64_t iteration, const PcdOptions& options) {
  const torch::Tensor slots = buffer.draw_slots(options.batch, iteration);
  return make_steps(model, sampler, buffer.chains(slots, options.reinit, iteration), slots, buffer,
                    iteration, options);
}

PcdChains contrast_chains(EnergyModel& model, const Sampler& sampler, const torch::Tensor& data,
                          ReplayBuffer& buffer, int64_t iteration, const PcdOptions& options) {
  const torch::Tensor slots =
      torch::arange(data.size(0), torch::TensorOptions(torch::kInt64).device(data.device()));
  return make_steps(model, sampler, data, slots, buffer, iteration, options);
}

}  // namespace isinglass
