// Implements the metrics of every run: mixing, movement and energies of its chains, and their cost.
#include <fmt/format.h>

#include <cmath>

#include "engine/diagnostics/burn_in.h"
#include "engine/diagnostics/ess.h"
#include "lab/grid/metrics/cell_run.h"

namespace isinglass {
namespace {

// Returns the standard error of the mean over the chains, relative to the mean. per_chain [chains];
// groups of chains that contain a NaN are left out.
double relative_error(const torch::Tensor& per_chain, int64_t group) {
  const torch::Tensor groups = per_chain.view({-1, group});
  const torch::Tensor defined =
      groups.index_select(0, groups.isfinite().all(1).nonzero().flatten());
  if (defined.numel() == 0) return NAN;
  const Estimate mean = mean_over_chains(defined.flatten(), group);
  return mean.error / mean.value;
}

// Returns the metric of the papers' ESS per step, model call or second: the mean over the chains
// for which it is defined, with the standard error over groups of chains that move together.
auto ess_per(const char* something) {
  return [key = fmt::format("per_{}", something)](const CellRun& run) -> Estimate {
    const double value = number_of(run.summary["ess"][key]);
    return {value,
            value == 0 ? 0 : value * relative_error(tfp_ess(run.recorder.statistic()), run.group)};
  };
}

// of_ess() and of_summary() return a number of the run's summary, for which no error is known.
auto of_ess(const char* key) {
  return [key](const CellRun& run) -> Estimate { return {number_of(run.summary["ess"][key])}; };
}

auto of_summary(const char* key) {
  return [key](const CellRun& run) -> Estimate { return {number_of(run.summary[key])}; };
}

// Returns the mean over chains of a sum over the kept steps, divided by the number of steps.
Estimate per_step(const CellRun& run, const torch::Tensor& sum) {
  return mean_over_chains(sum.to(torch::kFloat64) / plan_of(run.sampling.spec()).steps, run.group);
}

Estimate burn_in_steps(const CellRun& run) {
  const double entered = burn_in_time(run.trace.energy.unsqueeze(1));
  if (!std::isfinite(entered)) return {NAN};
  return {run.trace.step[static_cast<int64_t>(entered)].item<double>()};
}

Estimate final_energy(const CellRun& run) {
  const torch::Tensor energy = run.recorder.energy();
  return mean_over_chains(energy.slice(0, energy.size(0) * 3 / 4).mean(0), run.group);
}

}  // namespace

Estimate mean_over_chains(const torch::Tensor& per_chain, int64_t group) {
  const torch::Tensor independent = per_chain.view({-1, group}).mean(1);
  const auto count = static_cast<double>(independent.numel());
  return {independent.mean().item<double>(),
          count > 1 ? independent.std().item<double>() / std::sqrt(count) : NAN};
}

double number_of(const nlohmann::ordered_json& value) {
  return value.is_number() ? value.get<double>() : NAN;
}

std::vector<Metric> chain_metrics() {
  return {
      {"ess_per_step", "ESS per step", true, true, true, true, ess_per("step")},
      {"ess_per_evaluation", "ESS per model call", true, true, true, true, ess_per("evaluation")},
      {"ess_per_second", "ESS per second, one chain", true, true, true, true, ess_per("second")},
      {"bulk_ess", "bulk ESS, all chains", true, false, true, true, of_ess("bulk")},
      {"tail_ess", "tail ESS, all chains", true, false, true, true, of_ess("tail")},
      {"rhat", "R-hat", false, false, false, false, of_summary("rhat")},
      {"acceptance", "acceptance", true, true, true, true,
       [](const CellRun& run) { return per_step(run, run.sampling.statistics().acceptance_sum); }},
      {"hops", "hops per step", true, true, true, true,
       [](const CellRun& run) { return per_step(run, run.sampling.statistics().hops_sum); }},
      {"burn_in_time", "burn-in, steps", false, false, true, true, burn_in_steps},
      {"final_energy", "mean energy, last quarter", false, true, false, false, final_energy},
  };
}

std::vector<Metric> cost_metrics() {
  return {{"energy_evaluations", "model calls per chain", false, false, false, true,
           of_summary("energy_evaluations")},
          {"seconds", "seconds", false, false, false, true, of_summary("seconds")}};
}

}  // namespace isinglass
