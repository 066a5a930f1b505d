// Implements the run of a sampling cell and its measurements.
#include "lab/grid/cells/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/diagnostics/autocorrelation.h"
#include "engine/diagnostics/mmd.h"
#include "engine/observers/modes.h"
#include "engine/observers/states.h"
#include "engine/run/clock.h"
#include "io/error.h"
#include "io/numbers.h"
#include "io/picture.h"
#include "lab/grid/cells/ground_truth.h"
#include "lab/grid/metrics/cell_run.h"
#include "lab/grid/rows.h"
#include "lab/page/page.h"
#include "lab/run/sampling.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTracePoints = 300, kLags = 200;
constexpr int64_t kPictures = 9, kPictureColumns = 3;  // A cell's picture shows this many states.
// This is below the bound of claims, so that cells pass that bound clearly.
constexpr double kLongEnoughRhat = 1.05;
// From this share of chains at right modes on, they count as arrived.
constexpr double kMostRight = 0.8;

std::vector<double> thinned_numbers(const torch::Tensor& values) {
  const int64_t stride = std::max<int64_t>(1, values.numel() / kTracePoints);
  return numbers(values.slice(0, 0, c10::nullopt, stride));
}

Trace trace_of(const BurnInTrace& burn_in, const Recorder& recorder, const RunPlan& plan) {
  const torch::Tensor kept = recorder.energy().mean(1);
  const torch::Tensor early = torch::arange(1, plan.burn_in + 1, torch::kFloat64);
  const torch::Tensor late = plan.burn_in + static_cast<double>(plan.thin) *
                                                torch::arange(1, kept.numel() + 1, torch::kFloat64);
  return {torch::cat({early, late}), torch::cat({burn_in.mean(), kept})};
}

// Returns the autocorrelations ρ_k of the statistic, averaged over chains, with lags in steps.
Json autocorrelation_json(const Recorder& recorder, int64_t thin) {
  const torch::Tensor rho = autocorrelation(recorder.statistic()).nanmean(1);
  const int64_t lags = std::min(kLags, rho.numel());
  return {{"lag", numbers(thin * torch::arange(lags, torch::kFloat64))},
          {"rho", numbers(rho.slice(0, 0, lags))}};
}

// Returns MMD² between the chains and the ground truth as a function of time.
Json mmd_json(const StatesInTime& early, const torch::Tensor& reference) {
  Json mmd = Json::array();
  for (const torch::Tensor& x : early.states())
    mmd.push_back(hamming_mmd(x, reference).u_statistic);
  return {{"seconds", early.seconds()}, {"mmd", mmd}};
}

// Adds the distance to the ground truth and the distance that a perfect sampler would have. The
// distance is left out if the ground truth has not converged.
void add_mmd(Json& done, const LateStates& late, const StatesInTime& early,
             const GroundTruth& truth) {
  Json& metrics = done["metrics"];
  put(metrics, "reference_rhat", {truth.rhat});
  put(metrics, "mmd_floor", {truth.floor.u_statistic, truth.floor.standard_error});
  put(metrics, "mmd_v_floor", {truth.floor.v_statistic});
  done["reference"] = {{"sweeps", truth.sweeps}, {"converged", truth.converged()}};
  if (!truth.converged()) return;
  const Mmd mmd = hamming_mmd(late.states(), truth.draws);
  put(metrics, "mmd", {mmd.u_statistic, mmd.standard_error});
  put(metrics, "mmd_v", {mmd.v_statistic});
  done["mmd_trace"] = mmd_json(early, truth.draws);
}

// Adds the share of states at right modes and the model calls until it is large; each step takes
// `calls` model calls. If the chains never get there, the calls count as the grid's whole budget,
// which is the same for every sampler.
void add_modes(Json& done, const Cell& cell, const ModeShare& modes, double calls, int64_t group) {
  put(done["metrics"], "right_share", mean_over_chains(modes.late(), group));
  const double all = calls * static_cast<double>(modes.share().numel());
  const std::optional<int64_t> steps = modes.steps_until(kMostRight);
  put(done["metrics"], "calls_to_right",
      {steps ? calls * static_cast<double>(*steps)
             : std::max(all, static_cast<double>(cell.calls))});
  const torch::Tensor& share = modes.share();
  done["mode_trace"] = {
      {"calls", thinned_numbers(calls * torch::arange(1, share.numel() + 1, torch::kFloat64))},
      {"share", thinned_numbers(share)}};
}

void add_picture(Json& cell, const LastStates& last, ImageSize size) {
  const torch::Tensor images = last.best(kPictures).to(torch::kFloat32).clamp(0, 1);
  require(images.size(1) == size.height * size.width,
          "the states of {} sites are not images of {}x{} pixels, the size that pictures gives",
          images.size(1), size.height, size.width);
  cell["picture"] =
      report::picture("", picture_grid(images, size.height, size.width, kPictureColumns));
}

Json metrics_of(const CellRun& run) {
  Json metrics = Json::object();
  for (const Metric& metric : grid_metrics()) {
    if (metric.measure) put(metrics, metric.key, metric.measure(run));
  }
  return metrics;
}

Json measured_cell(const Grid& grid, const Cell& cell, GridModels& models, torch::Device device,
                   const Stop& stop) {
  const GridModels::Target& target = models.target(cell, grid.reference);
  SampleSpec spec = cell.sampling;
  spec.model.name = target.model->kind_name();
  Sampling sampling(std::move(spec), {.device = device, .stop = stop}, {.model = target.model});
  const RunPlan plan = plan_of(sampling.spec());
  Recorder recorder = sampling.recorder(false);
  BurnInTrace burn_in(plan);
  StateMean mean;
  LateStates late(plan.steps / plan.thin, kMmdDraws);
  StatesInTime early(device);
  LastStates last(plan.steps / plan.thin);
  ModeShare modes(target.modes, plan);
  const bool has_modes = target.modes.centers.defined();
  std::vector<Observer*> observers = {&burn_in};
  if (grid.true_mean) observers.push_back(&mean);
  if (grid.reference) observers.insert(observers.end(), {&late, &early});
  if (grid.picture) observers.push_back(&last);
  if (has_modes) observers.push_back(&modes);
  sampling.run(recorder, observers);
  if (stop && stop()) throw Interrupted("");
  require_options(recorder.made() > 0, "the cell has no draws, because `steps` is below `thin`");

  const Json summary = sampling.summary(recorder);
  const Trace trace = trace_of(burn_in, recorder, plan);
  const auto group =
      static_cast<int64_t>(sampler_number(sampling.spec().sampler, "group").value_or(1));
  const double calls = number_of(summary["energy_evaluations"]) / static_cast<double>(plan.steps);
  Json done = {
      {"status", "done"},
      {"chains", summary["chains"].get<int64_t>() / group},
      {"metrics", metrics_of({sampling, recorder, summary, trace, group})},
      {"summary", summary},
      {"trace", {{"step", thinned_numbers(trace.step)}, {"energy", thinned_numbers(trace.energy)}}},
      {"autocorrelation", autocorrelation_json(recorder, plan.thin)}};
  Json& metrics = done["metrics"];
  if (cell.calls > 0) done["trace"]["calls"] = thinned_numbers(calls * trace.step);
  if (grid.true_mean) put(metrics, "mean_error", mean_over_chains(mean.error(*grid.true_mean)));
  if (grid.reference) add_mmd(done, late, early, target.reference);
  if (has_modes) add_modes(done, cell, modes, calls, group);
  if (grid.picture) {
    put(metrics, "least_energy", {last.energy().min().item<double>()});
    add_picture(done, last, *grid.picture);
  }
  return done;
}

// Doubles the burn-in and the steps. Doubles the thinning if more than 20 000 draws would be kept.
void lengthen(SampleSpec& spec) {
  constexpr int64_t kMostDraws = 20000;
  spec.burn_in *= 2;
  spec.steps = 2 * spec.steps.value_or(0);
  if (*spec.steps / spec.thin > kMostDraws) spec.thin *= 2;
}

Json failed_cell(std::string error) {
  std::replace(error.begin(), error.end(), '\n', ' ');
  return {{"status", "failed"}, {"error", error}, {"metrics", Json::object()}};
}

}  // namespace

void put(Json& metrics, const std::string& key, const Estimate& measured) {
  metrics[key] = measured.value;
  if (find_metric(key, "metrics").has_error) metrics[key + "_se"] = measured.error;
}

Json done_or_failed(const std::function<Json()>& measure) {
  try {
    return measure();
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::Error& error) {
    return failed_cell(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return failed_cell("out of memory");
  } catch (const std::runtime_error& error) {
    return failed_cell(error.what());
  } catch (const std::logic_error& error) {
    return failed_cell(error.what());
  }
  // Exceptions of other types, such as one from Python, belong to the caller, who gave the model.
}

Json run_cell(const Grid& grid, const Cell& cell, GridModels& models, torch::Device device,
              const Stop& stop, double until_converged) {
  return done_or_failed([&] {
    Cell own = cell;
    // Training the model does not count towards the cell's time.
    models.target(cell, grid.reference);
    while (true) {
      const double start = synchronised_seconds(device);
      Json done = measured_cell(grid, own, models, device, stop);
      const double longer = 2 * (synchronised_seconds(device) - start);
      if (number_of(done["metrics"]["rhat"]) <= kLongEnoughRhat) return done;
      if (longer > until_converged) {
        done["longer_run"] = longer;
        return done;
      }
      lengthen(own.sampling);
    }
  });
}

}  // namespace isinglass
