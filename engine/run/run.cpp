// Implements the run loop.
#include "engine/run/run.h"

#include <algorithm>
#include <cmath>

#include "engine/adaptation/acceptance.h"
#include "engine/run/clock.h"
#include "engine/run/stepper.h"
#include "engine/stop_consensus.h"
#include "models/full_precision.h"

namespace isinglass {

namespace {

// Passes steps and draws to the observers, with U brought up to date.
class ObserverList {
 public:
  ObserverList(EnergyModel& model, ChainState& state, const std::vector<Observer*>& observers)
      : model_(model), state_(state), observers_(observers) {}

  // Returns how many of at most `most` steps may be made before an observer must be called.
  int64_t until_look(int64_t most, bool burn_in) const {
    const bool one_by_one =
        std::any_of(observers_.begin(), observers_.end(),
                    [&](const Observer* observer) { return observer->every_step(burn_in); });
    return one_by_one ? std::min<int64_t>(most, 1) : most;
  }

  void show_step(int64_t step, bool burn_in) {
    if (observers_.empty()) return;
    model_.flush_energy(state_.x, state_.current);
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

// Computes the means over all chains from the sums over `steps` steps.
void summarise(const Statistics& statistics, int64_t steps, int64_t base_moves, const Ranks& ranks,
               RunResult& result) {
  const double n = static_cast<double>(steps);
  result.acceptance = ranks.mean(statistics.acceptance_sum).item<double>() / n;
  result.least_acceptance = ranks.gather(statistics.acceptance_sum).min().item<double>() / n;
  result.hops = ranks.mean(statistics.hops_sum).item<double>() / n;
  result.unmoved = ranks.sum(statistics.hops_sum.eq(0).sum()).item<int64_t>();
  result.non_finite = ranks.sum(statistics.non_finite.sum()).item<int64_t>();
  if (!statistics.base_moves) return;
  const ops::StepBuffers& moves = *statistics.base_moves;
  result.base_acceptance =
      ranks.mean(moves.acceptance_sum).item<double>() / (n * static_cast<double>(base_moves));
  result.base_hops = ranks.mean(moves.hops_sum).item<double>() / n;
  result.non_finite += ranks.sum(moves.non_finite.sum()).item<int64_t>();
}

}  // namespace

bool saves_burn_in(const Sampler& sampler, const RunPlan& plan) {
  return (!plan.hook || plan.hook->goes_on()) &&
         (!sampler.warmup() || sampler.warmup()->saves_warmup());
}

RunResult run(EnergyModel& model, const Sampler& sampler, ChainState& state, StepParams& params,
              const RunPlan& plan, const std::vector<Observer*>& observers,
              const Context& context) {
  const FullPrecision full;
  const Ranks& ranks = *context.ranks;
  RunProgress made = plan.made;
  Stepper stepper(model, sampler, state, params, plan.cuda_graph, plan.hook,
                  made.burn_in + made.steps);
  ObserverList observer_list(model, state, observers);
  StopConsensus stop_consensus(ranks);
  double start = synchronised_seconds(state.x.device());
  const auto save = [&] {
    for (Observer* observer : observers) observer->on_save();
    RunProgress now = made;
    if (made.sampling) {
      now.energy_evaluations += stepper.evaluations();
      now.seconds += synchronised_seconds(state.x.device()) - start;
    }
    plan.saver->save(now);
  };
  const auto stopped = [&](bool may_save) {
    const bool due = may_save && plan.saver->due();
    const StopFlags granted = stop_consensus({.stop = context.to_stop(), .save = due});
    if (may_save && (granted.stop || granted.save)) save();
    return granted.stop;
  };
  const auto end = [&] {
    for (Observer* observer : observers) observer->on_end();
  };
  // Makes steps with a function that returns their number, and returns it; 0 if one of them failed.
  const bool keeps_failure = plan.keeps_failure && ranks.size() == 1;
  RunResult result;
  const auto advance = [&](const auto& make, int64_t most) -> int64_t {
    if (!keeps_failure) return make(most);
    try {
      return make(std::min<int64_t>(most, 1));  // A failure among several would leave their number
                                                // unknown.
    } catch (...) {
      result.failure = std::current_exception();
      return 0;
    }
  };
  const int64_t quarter = (plan.burn_in + 3) / 4;
  const bool burn_in_saved = plan.saver && saves_burn_in(sampler, plan);
  while (made.burn_in < plan.burn_in) {
    if (stopped(burn_in_saved && made.burn_in > 0)) {
      end();
      return {};
    }
    if (sampler.warmup() && made.burn_in == plan.burn_in - quarter) {
      made.acceptance_before = state.statistics.acceptance_sum.clone();
      made.hops_before = state.statistics.hops_sum.clone();
    }
    made.burn_in +=
        advance([&](int64_t most) { return stepper.advance_burn_in(most, plan.burn_in, ranks); },
                observer_list.until_look(plan.burn_in - made.burn_in, true));
    if (result.failure) {
      end();
      return result;
    }
    observer_list.show_step(made.burn_in - 1, true);
  }
  if (!made.sampling) {
    for (Observer* observer : observers) observer->on_sampling_start();
    if (const HasWarmup* warmup = sampler.warmup()) {
      BurnIn burn_in{.steps = plan.burn_in};
      double hops = NAN;
      if (made.acceptance_before.defined()) {
        const auto late = [&](const torch::Tensor& sum, const torch::Tensor& first) {
          const torch::Tensor difference = (sum - first).to(torch::kFloat64);
          return ranks.mean(difference).item<double>() / static_cast<double>(quarter);
        };
        burn_in.acceptance = late(state.statistics.acceptance_sum, made.acceptance_before);
        hops = late(state.statistics.hops_sum, made.hops_before);
      }
      made.adaptation = warmup->adaptation(state, params, burn_in);
      if (sampler.adapts()) doubt_frozen(*made.adaptation, hops, burn_in.acceptance);
    }
    state.statistics.reset();
    made.sampling = true;
  }
  result.adaptation = made.adaptation;
  stepper.take_evaluations();
  start = synchronised_seconds(state.x.device());
  while (made.steps < plan.steps && !stopped(plan.saver != nullptr)) {
    const int64_t to_draw = std::min(plan.thin - made.steps % plan.thin, plan.steps - made.steps);
    made.steps += advance([&](int64_t most) { return stepper.advance(most); },
                          observer_list.until_look(to_draw, false));
    if (result.failure) break;
    observer_list.show_step(made.steps - 1, false);
    if (made.steps % plan.thin == 0) observer_list.show_draw(made.steps / plan.thin - 1);
  }
  const double own_seconds = made.seconds + synchronised_seconds(state.x.device()) - start;
  result.seconds = ranks.gather(torch::tensor({own_seconds}, torch::kFloat64)).max().item<double>();
  end();
  result.energy_evaluations = made.energy_evaluations + stepper.take_evaluations();
  result.steps = made.steps;
  if (made.steps > 0) summarise(state.statistics, made.steps, sampler.base_moves(), ranks, result);
  return result;
}

}  // namespace isinglass
