// See tempering.h.
#include "lab/run/tempering.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"
#include "train/likelihood.h"

namespace isinglass {
namespace {

constexpr int64_t kMostRungs = 10000;
constexpr int64_t kMostFound = 1000;  // of `rungs` auto

// none: auto
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
  require_options(
      space.kind == StateKind::kBinary || space.kind == StateKind::kCategorical,
      "`rungs` needs a distribution of which exact draws are made at beta = 0; there is "
      "one of binary and of categorical sites, and the model's states are {}",
      kinds_text({space.kind}));
}

std::unique_ptr<ParallelTempering> tempering_with(const SamplerSpec& local, EnergyModel& model,
                                                  const TemperingOptions& options,
                                                  torch::Device device, bool warm) {
  const Factorised reference = annealing_start(model, nullptr, device);
  TemperedModel path(model, &reference, device, TemperedModel::Form::kParts, /*betas=*/2);
  return std::make_unique<ParallelTempering>(model, sampler_of(local, path, warm), reference,
                                             options);
}

}  // namespace

std::unique_ptr<ParallelTempering> tempering_of(const SampleSpec& spec, EnergyModel& model,
                                                const RunPlan& plan, torch::Device device,
                                                bool warm) {
  TemperingOptions options{.rungs = rungs_of(spec.rungs),
                           .most_rungs = kMostRungs,
                           .exploration = spec.exploration.value_or(1),
                           .scans = plan.steps};
  require_options(!spec.anneal,
                  "`rungs` and `anneal` exclude each other: tempering samples at all "
                  "temperatures at once");
  check_space(model.space());
  const int64_t ensembles = *spec.chains;
  const auto bytes = [&](int64_t rungs) {
    const double kept = 8.0 * 1024 * static_cast<double>(ensembles * rungs);  // of V
    return 1.5 * sampling_bytes(model, ensembles * rungs) + kept;
  };
  if (options.rungs) {
    require_memory(bytes(*options.rungs), device,
                   fmt::format("`rungs` {} of `chains` {} ensembles", *options.rungs, ensembles));
  } else {
    const double fitting = available_memory(device) / bytes(1);
    options.most_rungs =
        std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e6)), 8, kMostFound);
    require_memory(bytes(8), device,
                   fmt::format("`rungs` auto of `chains` {} ensembles", ensembles));
    require_options(plan.burn_in > 0 || warm,
                    "`rungs` auto finds their number in burn-in: `burn-in` is 0");
  }
  return tempering_with(spec.sampler, model, options, device, warm);
}

std::unique_ptr<ParallelTempering> tempering_of(const BenchSpec& spec, EnergyModel& model,
                                                torch::Device device) {
  check_space(model.space());
  return tempering_with(spec.sampler, model, {.rungs = spec.rungs}, device, /*warm=*/false);
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
