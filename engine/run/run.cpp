// The run loop; see run.h.
#include "engine/run/run.h"

#include <algorithm>
#include <cmath>

#include "engine/adaptation/acceptance.h"
#include "engine/agreement.h"
#include "engine/run/clock.h"
#include "engine/run/stepper.h"
#include "models/full_precision.h"

namespace isinglass {

namespace {

// Shows steps and draws to observers, with U.
class Audience {
 public:
  Audience(EnergyModel& model, ChainState& state, const std::vector<Observer*>& observers)
      : model_(model), state_(state), observers_(observers) {}

  // How many of so many steps may be taken before somebody looks.
  int64_t until_look(int64_t most, bool burn_in) const {
    const bool one_by_one =
        std::any_of(observers_.begin(), observers_.end(),
                    [&](const Observer* observer) { return observer->every_step(burn_in); });
    return one_by_one ? std::min<int64_t>(most, 1) : most;
  }

  void show_step(int64_t step, bool burn_in) {
    if (observers_.empty()) return;
    model_.settle(state_.x, state_.current);
    for (Observer* observer : observers_) observer->on_step(step, burn_in, state_);
  }

  void show_draw(int64_t draw) {
    for (Observer* observer : observers_) observer->on_draw(draw, state_);
  }

 private:
  EnergyModel& model_;
  ChainState& state_;
  const std::vector<Observer*>& observers_;
};

// The means over all chains of what they did in so many steps.
void summarise(const Statistics& statistics, int64_t steps, const Ranks& ranks, RunResult& result) {
  const double n = static_cast<double>(steps);
  result.acceptance = ranks.mean(statistics.acceptance_sum).item<double>() / n;
  result.least_acceptance = ranks.gather(statistics.acceptance_sum).min().item<double>() / n;
  result.hops = ranks.mean(statistics.hops_sum).item<double>() / n;
  result.unmoved = ranks.sum(statistics.hops_sum.eq(0).sum()).item<int64_t>();
  result.non_finite = ranks.sum(statistics.non_finite.sum()).item<int64_t>();
}

}  // namespace

RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const Context& context) {
  const FullPrecision full;
  const Ranks& ranks = *context.ranks;
  Stepper stepper(model, sampler, state, params, plan.cuda_graph, plan.transition);
  Audience audience(model, state, observers);
  Agreement agreement(ranks);
  const auto stopped = [&] { return agreement({.stop = context.to_stop()}).stop; };
  const int64_t quarter = (plan.burn_in + 3) / 4;
  torch::Tensor before, hops_before;  // acceptances and hops summed up to the last quarter
  const auto end = [&] {
    for (Observer* observer : observers) observer->on_end();
  };
  for (int64_t t = 0; t < plan.burn_in;) {
    if (stopped()) {
      end();
      return {};
    }
    if (sampler.learns() && t == plan.burn_in - quarter) {
      before = state.statistics.acceptance_sum.clone();
      hops_before = state.statistics.hops_sum.clone();
    }
    t += stepper.advance_burn_in(audience.until_look(plan.burn_in - t, true), plan.burn_in, ranks);
    audience.show_step(t - 1, true);
  }
  for (Observer* observer : observers) observer->on_sampling_start();
  RunResult result;
  if (sampler.learns()) {
    BurnIn burn_in{.steps = plan.burn_in};
    double hops = NAN;
    if (before.defined()) {
      const auto late = [&](const torch::Tensor& sum, const torch::Tensor& first) {
        const torch::Tensor difference = (sum - first).to(torch::kFloat64);
        return ranks.mean(difference).item<double>() / static_cast<double>(quarter);
      };
      burn_in.acceptance = late(state.statistics.acceptance_sum, before);
      hops = late(state.statistics.hops_sum, hops_before);
    }
    result.adaptation = sampler.adaptation(state, params, burn_in);
    if (sampler.adapts() && result.adaptation) {
      doubt_frozen(*result.adaptation, hops, burn_in.acceptance);
    }
  }
  state.statistics.reset();
  stepper.take_evaluations();
  const double start = synchronised_seconds(state.x.device());
  int64_t done = 0;
  while (done < plan.steps && !stopped()) {
    const int64_t to_draw = std::min(plan.thin - done % plan.thin, plan.steps - done);
    done += stepper.advance(audience.until_look(to_draw, false));
    audience.show_step(done - 1, false);
    if (done % plan.thin == 0) audience.show_draw(done / plan.thin - 1);
  }
  const double own_seconds = synchronised_seconds(state.x.device()) - start;
  result.seconds = ranks.gather(torch::tensor({own_seconds}, torch::kFloat64)).max().item<double>();
  end();
  result.energy_evaluations = stepper.take_evaluations();
  result.steps = done;
  if (done > 0) summarise(state.statistics, done, ranks, result);
  return result;
}

}  // namespace isinglass
