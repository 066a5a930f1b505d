// See sample_summary.h.
#include "cli/sample_summary.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/identity.h"
#include "engine/diagnostics/ess.h"
#include "engine/diagnostics/rank_normalised.h"
#include "models/identity.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

Json ess_json(const Recorder& recorder, const RunResult& result, int64_t chains) {
  const torch::Tensor per_chain = recorder.made() > 0
                                      ? legacy_ess(recorder.statistic())
                                      : torch::full({chains}, std::nan(""), torch::kFloat64);
  const DiagnosticSummary ess = summarise(per_chain);
  return {{"mean", ess.mean},
          {"std", ess.std},
          {"undefined", ess.undefined},
          {"bulk", bulk_ess(recorder.statistic())},
          {"tail", tail_ess(recorder.statistic())},
          {"per_step", ess.mean / static_cast<double>(result.steps)},
          {"per_evaluation", ess.mean / static_cast<double>(result.energy_evaluations)},
          {"per_second", ess.mean / result.seconds},
          {"per_second_all", ess.mean / result.seconds * static_cast<double>(chains)}};
}

// The scales as the run used them: given, adapted in burn-in, or the defaults.
Json scales_json(const Sampler& sampler, const StepParams& params) {
  Json scales = Json::object();
  const std::vector<Scale> names = sampler.scales();
  const torch::Tensor values = params.scale.cpu();
  for (size_t i = 0; i < names.size(); ++i) {
    scales[names[i].name] = values[static_cast<int64_t>(i)].item<double>();
  }
  return scales;
}

}  // namespace

Json summary_json(const Options& options, const EnergyModel& model, const Sampler& sampler,
                  const StepParams& params, const RunPlan& plan, const RunResult& result,
                  const Recorder& recorder) {
  const bool stepped = result.steps > 0;
  const int64_t chains = options.integer("chains");
  Json summary = {{"model", options.text("model")}, {"sampler", options.text("sampler")}};
  summary["exact"] = sampler.exact();
  summary["adapted"] = scales_json(sampler, params);
  if (result.adaptation) {
    summary["adaptation"] = {{"rounds", result.adaptation->rounds},
                             {"settled", result.adaptation->settled}};
  }
  const auto if_stepped = [&](double value) { return stepped ? value : std::nan(""); };
  summary.update(
      Json{{"chains", chains},
           {"sites", model.space().sites},
           {"burn_in", plan.burn_in},
           {"steps", plan.steps},
           {"steps_done", result.steps},
           {"thin", plan.thin},
           {"draws", recorder.made()},
           {"acceptance", if_stepped(result.acceptance)},
           {"hops", if_stepped(result.hops)},
           {"energy_evaluations", result.energy_evaluations},
           {"non_finite", result.non_finite},
           {"seconds", result.seconds},
           {"steps_per_second", if_stepped(static_cast<double>(result.steps) / result.seconds)},
           {"statistic", options.text("statistic")},
           {"ess", ess_json(recorder, result, chains)},
           {"rhat", rank_rhat(recorder.statistic())},
           {"device", params.rng.device().str()},
           {"threads", at::get_num_threads()},
           {"seed", options.integer("seed")},
           {"version", ISINGLASS_VERSION},
           {"revision", program_revision()},
           {"parameters_sha256", parameters_sha256(model)},
           {"sampler_options", sampler_options_json(sampler)}});
  if (options.has("data-sha256")) {
    summary["dataset"] = options.text("dataset");
    summary["data_sha256"] = options.text("data-sha256");
  }
  if (options.has("group")) {
    summary["acceptance_worst_group"] = if_stepped(result.least_acceptance);
  }
  if (options.has("gradient-model")) summary["gradient_model"] = options.text("gradient-model");
  return summary;
}

Json solution_json(const Options& options, const BestSolution& best) {
  const double optimum = options.has("optimum") ? options.real("optimum")
                                                : best.problem().optimum().value_or(std::nan(""));
  Json json = {{"value", std::nan("")}, {"optimum", optimum}, {"ratio", std::nan("")}};
  if (!best.found()) return json;
  json["value"] = best.value();
  if (optimum != 0) json["ratio"] = best.value() / optimum;
  json["step"] = best.step();
  json["chain"] = best.chain();
  return json;
}

namespace {

std::string number(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>())
             ? fmt::format("{:.4g}", value.get<double>())
             : "undefined";
}

// A line of what a graph problem's run found; none for other models.
std::string solution_text(const Json& summary) {
  if (!summary.contains("best")) return "";
  const Json& best = summary["best"];
  if (!best.contains("step")) return "  no solution: no state seen was feasible\n";
  const double optimum = best["optimum"].get<double>();
  return fmt::format(
      "  best solution {}{}, first after step {} (best.pt)\n", best["value"].get<double>(),
      std::isnan(optimum)
          ? ""
          : fmt::format(" of the optimum {}, a ratio of {}", optimum, number(best["ratio"])),
      best["step"].get<int64_t>());
}

}  // namespace

std::string summary_text(const Json& summary, const std::string& directory) {
  const Json& ess = summary["ess"];
  const std::string worst =
      summary.contains("acceptance_worst_group")
          ? fmt::format(" (worst group {})", number(summary["acceptance_worst_group"]))
          : "";
  return fmt::format(
      "{} by {}: {} chains, {} steps, {} draws\n"
      "  acceptance {}{}, hops a step {}\n"
      "  {} steps/s, {} model calls a chain\n"
      "  ESS of the {} {} ± {} (a step {}, a second and chain {}), R-hat {}\n"
      "{}{}  written to {}\n",
      summary["model"].get<std::string>(), summary["sampler"].get<std::string>(),
      summary["chains"].get<int64_t>(), summary["steps_done"].get<int64_t>(),
      summary["draws"].get<int64_t>(), number(summary["acceptance"]), worst,
      number(summary["hops"]), number(summary["steps_per_second"]),
      summary["energy_evaluations"].get<int64_t>(), summary["statistic"].get<std::string>(),
      number(ess["mean"]), number(ess["std"]), number(ess["per_step"]), number(ess["per_second"]),
      number(summary["rhat"]), solution_text(summary),
      summary["exact"].get<bool>()
          ? ""
          : "  not exact: with these options the sampler has another stationary law\n",
      directory);
}

}  // namespace isinglass
