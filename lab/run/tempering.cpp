// Implements tempering as the sampler of a run.
#include "lab/run/tempering.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/registry.h"
#include "engine/tempering/ladder_path.h"
#include "io/error.h"
#include "kernels/random/counters.h"
#include "lab/run/annealing_path.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"
#include "models/network/rbm.h"
#include "train/likelihood.h"

namespace isinglass {
namespace {

constexpr int64_t kMostRungs = 10000;
constexpr int64_t kMostFound = 1000;  // Limits the rungs of `rungs` auto.
constexpr double kLeastMean = 1e-2;   // Limits the mean of a site at β = 0 from below.

// Returns the number of rungs, or nothing for "auto".
std::optional<int64_t> rungs_of(const std::string& text) {
  if (text == "auto") return std::nullopt;
  int64_t rungs = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), rungs);
  require_option(failed == std::errc() && end == text.data() + text.size() && rungs >= 2 &&
                     rungs <= kMostRungs,
                 "rungs", text, "it must be auto or a whole number from 2 to {}", kMostRungs);
  return rungs;
}

void check_space(const StateSpace& space) {
  require_options(space.kind == StateKind::kBinary || space.kind == StateKind::kCategorical ||
                      space.kind == StateKind::kContinuous,
                  "`rungs` needs a distribution with exact draws at beta = 0, which exists for "
                  "binary, categorical and continuous sites; the model's states are {}",
                  kinds_text({space.kind}));
}

// Returns the reference distribution at β = 0. Without data, the joint path of an RBM begins at its
// visible biases, that is, at the RBM with weights 0.
Factorised reference_of(PathKind path, const EnergyModel& model, torch::Device device,
                        const std::optional<double>& scale = {}) {
  const auto* rbm = path == PathKind::kJoint ? dynamic_cast<const RbmModel*>(&model) : nullptr;
  if (!rbm || scale || rbm->visible_biases().dim() > 1) {
    return annealing_start(model, nullptr, device, scale);
  }
  const torch::Tensor mean = rbm->visible_biases().sigmoid();
  return Factorised::bernoulli(mean.clamp(kLeastMean, 1 - kLeastMean).to(device));
}

// Makes the tempering along the path in the options.
std::unique_ptr<ParallelTempering> tempering_with(const SamplerSpec& local, EnergyModel& model,
                                                  const Factorised& reference,
                                                  const TemperingOptions& options,
                                                  torch::Device device, bool warm) {
  const auto path = make_ladder_path(options.path, model, reference, device, /*chains=*/2);
  return std::make_unique<ParallelTempering>(model, sampler_of(local, path->model(), warm),
                                             reference, options);
}

// Returns the options of tempering for this many ensembles. Throws Error for more rungs than fit
// into memory, and for more local steps than the random counters can number.
template <class Spec>
TemperingOptions tempering_options(const Spec& spec, int64_t burn_in, int64_t scans,
                                   int64_t ensembles, const EnergyModel& model,
                                   const Context& context) {
  const torch::Device device = context.device;
  const int64_t exploration = spec.exploration.value_or(1);
  require_option(has_counters(burn_in + scans, exploration), "exploration", exploration,
                 "{} scans, burn-in included, would take {} local steps per chain, but at most {} "
                 "have random numbers of their own",
                 burn_in + scans,
                 static_cast<double>(burn_in + scans) * static_cast<double>(exploration),
                 kLargestCounter);
  TemperingOptions options{.rungs = rungs_of(spec.rungs),
                           .most_rungs = kMostRungs,
                           .exploration = exploration,
                           .scans = scans,
                           .cuda_graph = spec.cuda_graph.value_or(true)};
  check_space(model.space());
  const auto bytes = [&](int64_t rungs) {
    // Energies kept for log Z.
    const double kept = 16.0 * 1024 * static_cast<double>(ensembles * rungs);
    return 1.5 * sampling_bytes(model, ensembles * rungs) + kept;
  };
  if (options.rungs) {
    require_memory(bytes(*options.rungs), device,
                   fmt::format("`rungs` {} with `chains` {} ensembles", *options.rungs, ensembles));
  } else {
    const torch::Tensor available = torch::tensor({available_memory(device)}, torch::kFloat64);
    const double fitting = context.ranks->gather(available).min().item<double>() / bytes(1);
    options.most_rungs =
        std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e6)), 8, kMostFound);
    require_memory(bytes(8), device,
                   fmt::format("`rungs` auto with `chains` {} ensembles", ensembles));
  }
  return options;
}

}  // namespace

std::unique_ptr<ParallelTempering> tempering_of(const SampleSpec& spec, EnergyModel& model,
                                                const RunPlan& plan, const Context& context,
                                                bool warm,
                                                const std::optional<DistanceLimit>& limit) {
  const torch::Device device = context.device;
  require_options(!spec.anneal,
                  "`rungs` and `anneal` exclude each other, because tempering samples at all "
                  "temperatures at once");
  TemperingOptions options =
      tempering_options(spec, plan.burn_in, plan.steps, *spec.chains, model, context);
  options.lowest = spec.lowest_beta.value_or(0);
  require_options(options.rungs || plan.burn_in > 0 || warm,
                  "`rungs` auto finds the number of rungs in burn-in, but `burn-in` is 0; some "
                  "hundreds of steps are needed");
  options.path = path_for(spec.sampler, model);
  Factorised reference = reference_of(options.path, model, device, spec.start_scale);
  if (limit) {
    const int64_t most = limit->most.max().item<int64_t>();
    const int64_t entries = limit->differs.size(0) * limit->differs.size(1);
    require_memory(sizeof(double) * static_cast<double>(entries) * static_cast<double>(most + 1),
                   device, fmt::format("a reference distribution of at most {} changes", most));
    reference = reference.within(*limit);
  }
  return tempering_with(spec.sampler, model, reference, options, device, warm);
}

std::unique_ptr<ParallelTempering> tempering_of(const EvaluateSpec& spec, int64_t scans,
                                                EnergyModel& model, const Factorised& start,
                                                const Context& context) {
  TemperingOptions options =
      tempering_options(spec, tempered_burn_in(scans), scans, spec.chains, model, context);
  options.path = path_for(spec.sampler, model);
  return tempering_with(spec.sampler, model, start, options, context.device, /*warm=*/false);
}

std::unique_ptr<ParallelTempering> tempering_of(const BenchSpec& spec, EnergyModel& model,
                                                torch::Device device) {
  check_space(model.space());
  const PathKind path = path_for(spec.sampler, model);
  return tempering_with(
      spec.sampler, model, reference_of(path, model, device),
      {.rungs = spec.rungs, .exploration = spec.exploration.value_or(1), .path = path}, device,
      /*warm=*/false);
}

nlohmann::ordered_json tempering_json(const TemperingReport& report, int64_t exploration) {
  return {{"rungs", report.betas.size()},
          {"exploration", exploration},
          {"betas", report.betas},
          {"rejection", report.rejection},
          {"barrier", report.barrier},
          {"acceptance", report.acceptance},
          {"scales", report.scales},
          {"round_trips", report.round_trips},
          {"round_trip_rate", report.round_trip_rate},
          {"round_trip_rate_se", report.round_trip_se},
          {"predicted_rate", report.predicted_rate},
          {"best_rate", report.best_rate},
          {"log_z", report.log_z.value},
          {"log_z_se", report.log_z.standard_error}};
}

}  // namespace isinglass
