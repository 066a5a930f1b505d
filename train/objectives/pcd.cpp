// Implements the loss of persistent contrastive divergence and the steps of its chains.
#include "train/objectives/pcd.h"

#include <algorithm>
#include <cmath>

#include "engine/adaptation/acceptance.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "models/lattice/ising.h"

namespace isinglass {
namespace {

// The gain of the adaptation decreases up to this iteration, where it is 0.02, and stays there, as
// the model goes on changing.
constexpr int64_t kLeastGain = 678;

// Returns ½·E ‖∇_x U‖² at relaxed states, differentiable in the parameters.
torch::Tensor squared_gradient(const torch::Tensor& energy, const torch::Tensor& relaxed) {
  const torch::Tensor gradient = torch::autograd::grad({energy.sum()}, {relaxed}, {},
                                                       /*retain_graph=*/true,
                                                       /*create_graph=*/true)[0];
  return 0.5 * gradient.to(torch::kFloat64).square().sum() / gradient.size(0);
}

}  // namespace

PcdLoss pcd_loss(EnergyModel& model, const torch::Tensor& data, const torch::Tensor& chains,
                 const PcdOptions& options) {
  torch::AutoGradMode with_grad(true);
  const bool control = options.p_control > 0;
  const torch::Tensor x = control ? model.relaxed(data).detach().requires_grad_(true) : data;
  torch::Tensor u_data, u_chains;
  if (data.is_cuda() && !control) {  // one evaluation of both needs half as many kernel launches
    const torch::Tensor u = model.energy(torch::cat({data, chains})).to(torch::kFloat64);
    u_data = u.narrow(0, 0, data.size(0));
    u_chains = u.narrow(0, data.size(0), chains.size(0));
  } else {
    u_data = model.energy(x).to(torch::kFloat64);
    u_chains = model.energy(chains).to(torch::kFloat64);
  }
  PcdLoss result{{}, u_data.mean(), u_chains.mean(), u_data.detach(), u_chains.detach()};
  result.loss = result.energy_data - result.energy_model;
  if (options.l2 > 0) {
    result.loss = result.loss + options.l2 * (u_data.square().mean() + u_chains.square().mean());
  }
  if (control) result.loss = result.loss + options.p_control * squared_gradient(u_data, x);
  if (options.l1 > 0) {
    result.loss =
        result.loss + options.l1 * dynamic_cast<const IsingModel&>(model).coupling().abs().sum();
  }
  return result;
}

int64_t steps_at(const PcdOptions& options, int64_t iteration, int64_t iterations) {
  if (options.steps_end == 0) return options.steps;
  const double share = static_cast<double>(iteration) / static_cast<double>(iterations);
  const auto more = static_cast<double>(options.steps_end - options.steps);
  return options.steps + std::llround(more * std::clamp(5 * share - 4, 0.0, 1.0));
}

PcdSampling::PcdSampling(const Sampler& sampler, const PcdOptions& options, torch::Device device,
                         int64_t iterations)
    : sampler_(sampler),
      options_(options),
      iterations_(iterations),
      graph_(sampler, options.cuda_graph) {
  if (!sampler.adapts()) return;
  step_size_ = torch::full({}, sampler.scales().front().initial,
                           torch::TensorOptions(torch::kFloat64).device(device));
}

// init() and reset() throw NonFinite for states at which U or its gradient is not finite. The
// buffer's states are valid, so here this can only mean that the parameters have diverged.
void PcdSampling::start(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& slots,
                        int64_t iteration) try {
  const StepParams params = sampler_.params(stream_key(options_.seed, RandomStream::kTraining),
                                            x.device(), (iteration - 1) * most_steps(options_));
  if (step_size_.defined()) params.scale.select(0, 0).copy_(step_size_);
  if (!state_.x.defined()) {
    state_ = sampler_.init(model, x, slots);
    params_ = params;
    return;
  }
  const bool in_place = model.reads_parameters_in_place();
  if (!first_) first_.emplace("the chains' first evaluation", options_.cuda_graph && in_place);
  sampler_.reset(model, state_, x, slots, &*first_);
  params_.rng.copy_(params.rng);
  params_.scale.copy_(params.scale);
  if (!in_place) graph_.invalidate();
} catch (const NonFinite& error) {
  throw NumericalError(error.what());
}

PcdChains PcdSampling::advance(EnergyModel& model, const torch::Tensor& starts,
                               const torch::Tensor& slots, int64_t iteration) {
  start(model, starts, slots, iteration);
  const int64_t steps = steps_at(options_, iteration, iterations_);
  torch::Tensor before;
  if (options_.lag) before = state_.current.energy.to(torch::kFloat64).clone();
  for (int64_t step = 0; step < steps; ++step) graph_.step(model, state_, params_);
  const int64_t counted = std::min(options_.batch, starts.size(0));
  const auto to_mean = [counted, steps](const torch::Tensor& sums, torch::Tensor& mean) {
    const torch::Tensor now =
        sums.narrow(0, 0, counted).sum().to(torch::kFloat64) / static_cast<double>(counted * steps);
    if (!mean.defined()) mean = torch::empty_like(now);
    mean.copy_(now);
  };
  to_mean(state_.statistics.acceptance_sum, acceptance_);
  to_mean(state_.statistics.hops_sum, hops_);
  PcdChains result{state_.x, acceptance_, hops_, {}, before, {}};
  if (options_.lag) {
    model.flush_energy(state_.x, state_.current);
    result.after = state_.current.energy.to(torch::kFloat64);
  }
  if (step_size_.defined()) {
    const auto counted_rows = [counted](const torch::Tensor& sums) {
      return sums.narrow(0, 0, counted).to(torch::kFloat64);
    };
    result.of_chains =
        torch::stack({counted_rows(state_.statistics.acceptance_sum) / static_cast<double>(steps),
                      counted_rows(state_.statistics.hops_sum).ne(0).to(torch::kFloat64)},
                     1);
  }
  return result;
}

void PcdSampling::adapt(const torch::Tensor& means, int64_t iteration) {
  const double target = sampler_.target_acceptance();
  adapt_scale(step_size_, sampler_.scales().front(),
              informative_acceptance(means[0], means[1], target),
              std::min(iteration, kLeastGain) - 1, target);
}

}  // namespace isinglass
