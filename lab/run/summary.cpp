// See summary.h.
#include "lab/run/summary.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/diagnostics/ess.h"
#include "engine/diagnostics/rank_normalised.h"
#include "lab/identity.h"
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

void add_functions(const EnergyModel& model, torch::Device device, Json& summary) {
  if (own_functions(model).empty()) return;
  const std::optional<std::string> hash = functions_sha256(model, device);
  summary["energies_sha256"] = hash ? Json(*hash) : Json();
}

Json summary_json(const SampleSpec& spec, const EnergyModel& model, const Sampler& sampler,
                  const StepParams& params, const RunPlan& plan, const RunResult& result,
                  const Recorder& recorder) {
  const bool stepped = result.steps > 0;
  const int64_t chains = *spec.chains;
  Json summary = {{"model", spec.model.name}, {"sampler", spec.sampler.name}};
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
           {"unmoved_chains", stepped ? result.unmoved : 0},
           {"non_finite", result.non_finite},
           {"seconds", result.seconds},
           {"steps_per_second", if_stepped(static_cast<double>(result.steps) / result.seconds)},
           {"statistic", spec.statistic},
           {"ess", ess_json(recorder, result, chains)},
           {"rhat", rank_rhat(recorder.statistic())},
           {"device", params.rng.device().str()},
           {"threads", at::get_num_threads()},
           {"seed", spec.seed},
           {"version", kProgramVersion},
           {"revision", program_revision()},
           {"parameters_sha256", parameters_sha256(model)},
           {"sampler_options", sampler_options_json(sampler)}});
  add_functions(model, params.rng.device(), summary);
  return summary;
}

std::string unmoved_warning(const Json& summary) {
  if (summary.contains("tempering")) return "";  // its draws change by swaps, too
  constexpr int64_t kEnoughSteps = 100;  // an acceptance of 5 % moves 99.4 % of the chains by then
  const int64_t chains = summary["chains"], unmoved = summary["unmoved_chains"];
  const int64_t steps = summary["steps_done"];
  if (unmoved == 0 || (unmoved < chains && steps < kEnoughSteps)) return "";
  return fmt::format(
      "{} of {} chains did not move in {} steps (mean acceptance {:.2g}): their draws say nothing "
      "of "
      "the target; another sampler, a smaller scale, a longer burn-in or other starts may move "
      "them",
      unmoved, chains, steps, summary["acceptance"].get<double>());
}

Json solution_json(std::optional<double> known, const BestSolution& best) {
  const double optimum = known.value_or(best.problem().optimum().value_or(std::nan("")));
  Json json = {{"value", std::nan("")}, {"optimum", optimum}, {"ratio", std::nan("")}};
  if (!best.found()) return json;
  json["value"] = best.value();
  if (optimum != 0) json["ratio"] = best.value() / optimum;
  json["step"] = best.step();
  json["chain"] = best.chain();
  return json;
}

Json graph_json(const GraphReading& reading) {
  return {{"vertices", reading.vertices},
          {"edges", reading.edges},
          {"header", reading.header},
          {"first_vertex", reading.first_vertex},
          {"isolated_vertices", reading.isolated_vertices},
          {"repeated_edges", reading.repeated_edges}};
}

std::string optimum_warning(const Json& summary) {
  if (!summary.contains("best") || !summary["best"].contains("step")) return "";
  const double value = summary["best"]["value"], optimum = summary["best"]["optimum"];
  constexpr double kRounding = 1e-9;  // of sums of weights
  if (!(value > optimum + kRounding * std::abs(optimum))) return "";
  return fmt::format(
      "the best solution, {}, is above the optimum that was given, {}: that is the optimum of "
      "another problem, or wrong",
      value, optimum);
}

}  // namespace isinglass
