// Implements the summary and its warnings.
#include "lab/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/diagnostics/ess.h"
#include "engine/diagnostics/rank_normalised.h"
#include "lab/identity.h"
#include "lab/run/time_to_solution.h"
#include "models/identity.h"

namespace isinglass {
namespace {

// Sums of weights, and the optima that are given for them, are rounded by this much.
constexpr double kOptimumRounding = 1e-9;

using Json = nlohmann::ordered_json;

// Returns the rounding of the recorded statistic. Energies are rounded as the model rounds them at
// the chains' states. A model that has failed is not called again.
double statistic_rounding(const SampleSpec& spec, EnergyModel& model, const ChainState& state,
                          const RunResult& result) {
  if (spec.statistic != "energy" || state.chains() == 0 || result.failure) return kCarriedRounding;
  return energy_rounding(model, state.x);
}

Json ess_json(const Recorder& recorder, double rounding, const RunResult& result, int64_t chains,
              int64_t group) {
  const torch::Tensor per_chain = recorder.made() > 0
                                      ? tfp_ess(recorder.statistic())
                                      : torch::full({chains}, std::nan(""), torch::kFloat64);
  const DiagnosticSummary ess = summarise(per_chain);
  return {{"mean", ess.mean},
          {"std", ess.std},
          {"undefined", ess.undefined},
          {"stuck", ess.stuck},
          {"bulk", ess_of_groups(bulk_ess, recorder.statistic(), group, rounding)},
          {"tail", ess_of_groups(tail_ess, recorder.statistic(), group, rounding)},
          {"per_step", ess.mean / static_cast<double>(result.steps)},
          {"per_evaluation", ess.mean / static_cast<double>(result.energy_evaluations)},
          {"per_second", ess.mean / result.seconds},
          {"per_second_all", ess.mean / result.seconds * static_cast<double>(chains)}};
}

// Returns {statistic: R̂} for the run's own statistic, then for the watched ones.
Json rhats_json(const SampleSpec& spec, double own, const MixingWatch* mixing) {
  Json rhats = {{spec.statistic, json_number(own)}};
  if (!mixing) return rhats;
  for (const auto& [name, rhat] : mixing->rhats()) {
    if (name != spec.statistic) rhats[name] = json_number(rhat);
  }
  return rhats;
}

// Returns the statistic with the largest R̂, or the first if none is defined.
std::string worst_of(const Json& rhats) {
  std::string worst = rhats.begin().key();
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& [name, rhat] : rhats.items()) {
    if (!rhat.is_number() || !(rhat.get<double>() > largest)) continue;
    largest = rhat.get<double>();
    worst = name;
  }
  return worst;
}

// Returns the scales that the run used: given, adapted in burn-in, or defaults.
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

double json_number(double value) {
  return std::isinf(value) ? std::copysign(std::numeric_limits<double>::max(), value) : value;
}

Json summary_json(const SampleSpec& spec, EnergyModel& model, const Sampler& sampler,
                  const ChainState& state, const StepParams& params, const RunPlan& plan,
                  const RunResult& result, const Recorder& recorder, int64_t group,
                  const MixingWatch* mixing) {
  const bool stepped = result.steps > 0;
  const double rounding = statistic_rounding(spec, model, state, result);
  const Json rhats =
      rhats_json(spec, rhat_of_groups(recorder.statistic(), group, rounding), mixing);
  const int64_t chains = *spec.chains;
  Json summary = {{"model", spec.model.name}, {"sampler", spec.sampler.name}};
  summary["exact"] = sampler.exact();
  summary["adapted"] = scales_json(sampler, params);
  if (result.adaptation) {
    summary["adaptation"] = {{"rounds", result.adaptation->rounds},
                             {"settled", result.adaptation->converged}};
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
           {"ess", ess_json(recorder, rounding, result, chains, group)},
           {"rhat", rhats[worst_of(rhats)]},
           {"device", params.rng.device().str()},
           {"threads", at::get_num_threads()},
           {"seed", spec.seed},
           {"version", kProgramVersion},
           {"revision", program_revision()},
           {"parameters_sha256", parameters_sha256(model)},
           {"sampler_options", sampler_options_json(sampler)}});
  if (sampler.base_moves() > 0) {
    summary["base_moves"] = {{"each_step", sampler.base_moves()},
                             {"acceptance", json_number(result.base_acceptance)},
                             {"hops", json_number(result.base_hops)}};
  }
  add_functions(model, params.rng.device(), summary);
  if (mixing) {
    summary["rhats"] = rhats;
    summary["moved"] = mixing->moved();
  }
  return summary;
}

namespace {

// Returns a warning if chains did not move; empty if all did or if there are too few steps to tell.
std::string unmoved_warning(const Json& summary) {
  if (summary.contains("tempering")) return "";  // Draws of tempering also change by swaps.
  // With an acceptance of 5 %, 99.4 % of the chains have moved after this many steps.
  constexpr int64_t kEnoughSteps = 100;
  const int64_t chains = summary["chains"], unmoved = summary["unmoved_chains"];
  const int64_t steps = summary["steps_done"];
  if (unmoved == 0 || (unmoved < chains && steps < kEnoughSteps)) return "";
  return fmt::format(
      "{} of {} chains did not move in {} steps (mean acceptance {:.2g}): either they are frozen, "
      "or one state has nearly all of the probability; a run with another sampler, a smaller "
      "scale, a longer burn-in or other starting states can tell which",
      unmoved, chains, steps, summary["acceptance"].get<double>());
}

std::string rhat_warning(const Json& summary) {
  constexpr int64_t kEnoughDraws = 50;
  if (summary["draws"] < kEnoughDraws || !summary["rhat"].is_number() ||
      !(summary["rhat"].get<double>() > kConvergedRhat))
    return "";
  const std::string worst = summary.contains("rhats") ? worst_of(summary["rhats"])
                                                      : summary["statistic"].get<std::string>();
  const double rhat = summary["rhat"];
  const bool infinite = rhat == std::numeric_limits<double>::max();
  static const std::map<std::string, std::string> names = {
      {"energy", "energy"}, {"hamming", "Hamming distance"}, {"sum", "sum of sites"}};
  return fmt::format(
      "R-hat of the {} is {}: the chains have not converged to one "
      "distribution, and their draws are not yet draws from the target; "
      "more steps, a longer `burn-in`, another sampler or `rungs` may help",
      names.at(worst), infinite ? "infinite" : fmt::format("{:.3g}", rhat));
}

// Returns warnings about temperatures that make annealing useless.
std::vector<std::string> range_warnings(const Json& summary) {
  // The pilot of `anneal` auto aims at 0.1 and more, and at 0.001 and less.
  constexpr double kFrozen = 0.003, kHot = 0.1;
  if (!summary.contains("annealing")) return {};
  const Json &first = summary["annealing"]["uphill_accepted_first"],
             &last = summary["annealing"]["uphill_accepted_last"];
  std::vector<std::string> warnings;
  if (first.is_number() && first.get<double>() < kFrozen) {
    warnings.push_back(fmt::format(
        "`anneal` {} starts too cold: at the first temperature {:.2g} % of the changes that raise "
        "the energy would be accepted, so that the chains could not leave the first valley that "
        "they fell into; `anneal` auto chooses temperatures that suit the target",
        summary["anneal"].get<std::string>(), 100 * first.get<double>()));
  }
  if (last.is_number() && last.get<double>() > kHot) {
    warnings.push_back(fmt::format(
        "`anneal` {} ends too hot: at the last temperature {:.2g} % of the changes that raise the "
        "energy would still be accepted, so that the chains did not settle; `anneal` auto chooses "
        "temperatures that suit the target",
        summary["anneal"].get<std::string>(), 100 * last.get<double>()));
  }
  return warnings;
}

}  // namespace

std::vector<std::string> chain_warnings(const Json& summary) {
  if (summary.contains("anneal")) return range_warnings(summary);
  std::vector<std::string> warnings = {unmoved_warning(summary), rhat_warning(summary)};
  std::erase(warnings, "");
  return warnings;
}

Json solution_json(std::optional<double> known, const BestSolution& best) {
  const std::optional<double> named = best.problem() ? best.problem()->optimum() : std::nullopt;
  const double optimum = known.value_or(named.value_or(std::nan("")));
  Json json = {{"value", std::nan("")}, {"optimum", optimum}, {"ratio", std::nan("")}};
  const bool minimises = best.minimises();
  if (minimises) json["minimises"] = true;
  if (!best.found()) return json;
  const double value = minimises ? 0 - best.value() : best.value();
  json["value"] = value;
  if (optimum != 0) json["ratio"] = value / optimum;
  json["step"] = best.step();
  json["chain"] = best.chain();
  const BestSolution::Reached reached = best.reached(best.value());
  json["found_by"] = reached.chains;
  json["mean_step"] = reached.mean_step;
  return json;
}

Json annealing_json(const AnnealedRun& run, const Json& solution, const BestSolution& best) {
  Json json = {{"uphill_accepted_first", run.at_first},
               {"uphill_accepted_last", run.at_last},
               {"seconds", run.seconds}};
  if (run.chains == 0 || !best.found()) return json;
  // A best value above the known optimum shows that this is wrong.
  const double optimum = solution["optimum"];
  const double known = best.minimises() ? 0 - optimum : optimum;
  const double rounding = std::max(best.rounding_at(known), kOptimumRounding * std::abs(known));
  const bool of_optimum = !std::isnan(known) && best.value() <= known + rounding;
  const BestSolution::Reached reached =
      best.reached(of_optimum ? std::max(best.value(), known - rounding) : best.value(), run.group);
  const bool missed = of_optimum && best.value() < known - rounding;
  const int64_t found = missed ? 0 : reached.chains;
  const TimeToSolution time = time_to_solution(run.chains / run.group, found, run.seconds);
  const auto interval = [](const Bounded& of, double unit = 1) {
    return Json::array({json_number(unit * of.low), json_number(unit * of.high)});
  };
  const auto group = static_cast<double>(run.group);
  if (run.group > 1) json["group"] = run.group;
  json["seconds_per_chain"] = run.seconds / static_cast<double>(run.chains);
  json["sought"] = of_optimum ? "optimum" : "best";
  json["found_by"] = found;
  json["found"] = time.found.value;
  json["found_interval"] = interval(time.found);
  json["mean_step"] = missed ? std::nan("") : reached.mean_step;
  json["mean_seconds"] =
      missed ? std::nan("") : reached.mean_step / static_cast<double>(run.steps) * run.seconds;
  json["chains_needed"] = json_number(group * time.chains.value);
  json["chains_needed_interval"] = interval(time.chains, group);
  json["time_to_solution"] = json_number(time.seconds.value);
  json["time_to_solution_interval"] = interval(time.seconds);
  return json;
}

Json graph_json(const GraphReading& reading) {
  return {{"vertices", reading.vertices},
          {"edges", reading.edges},
          {"format", reading.format},
          {"header", reading.header},
          {"first_vertex", reading.first_vertex},
          {"isolated_vertices", reading.isolated_vertices},
          {"repeated_edges", reading.repeated_edges}};
}

Json quadratic_json(const QuadraticReading& reading) {
  return {{"variables", reading.variables},
          {"variable_kind", reading.variable_kind},
          {"linear_terms", reading.linear_terms},
          {"pairs", reading.pairs},
          {"offset", reading.offset},
          {"format", reading.format},
          {"sum", reading.sum},
          {"first_variable", reading.first_variable},
          {"isolated_variables", reading.isolated_variables},
          {"both_directions", reading.both_directions},
          {"repeated_lines", reading.repeated_lines}};
}

Json network_json(const NetworkReading& reading) {
  Json json = {{"network", reading.kind},
               {"variables", reading.variables},
               {"least_values", reading.least_values},
               {"most_values", reading.most_values},
               {"factors", reading.factors},
               {"entries", reading.entries},
               {"zeros", reading.zeros},
               {"observed", reading.observed},
               {"evidence_from", reading.evidence_from}};
  if (!reading.names.empty()) json["names"] = reading.names;
  return json;
}

std::string optimum_warning(const Json& summary) {
  if (!summary.contains("best") || !summary["best"].contains("step")) return "";
  const double value = summary["best"]["value"], optimum = summary["best"]["optimum"];
  const bool minimises = summary["best"].contains("minimises");
  const double excess = minimises ? optimum - value : value - optimum;
  if (!(excess > kOptimumRounding * std::abs(optimum))) return "";
  return fmt::format(
      "the best solution, {}, is {} the given optimum, {}, which is wrong or belongs to another "
      "problem",
      value, minimises ? "below" : "above", optimum);
}

}  // namespace isinglass
