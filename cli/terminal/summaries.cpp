// Implements the text of summaries.
#include "cli/terminal/summaries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {

std::string number(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return "undefined";
  const double number = value.get<double>();
  return number == std::numeric_limits<double>::max() ? "infinite" : fmt::format("{:.4g}", number);
}

// Returns the R-hat of every statistic; empty if there is only one.
std::string rhats_text(const Json& summary) {
  if (!summary.contains("rhats") || summary["rhats"].size() < 2) return "";
  std::vector<std::string> all;
  for (const auto& [name, rhat] : summary["rhats"].items()) {
    all.push_back(fmt::format("{} {}", name, number(rhat)));
  }
  return fmt::format(" (the worst of {})", fmt::join(all, ", "));
}

// Returns a line with the best state that the run visited; empty if it sought none.
std::string solution_text(const Json& summary) {
  if (!summary.contains("best")) return "";
  const Json& best = summary["best"];
  if (!best.contains("step")) return "  no solution: the run saw no feasible state\n";
  const double optimum = best["optimum"].get<double>();
  return fmt::format(
      "  best solution {}{}, first seen after step {}, found by {} of {} chains (best.pt)\n",
      best["value"].get<double>(),
      std::isnan(optimum)
          ? ""
          : fmt::format(" of the optimum {}, a ratio of {}", optimum, number(best["ratio"])),
      best["step"].get<int64_t>(), best["found_by"].get<int64_t>(),
      summary["chains"].get<int64_t>());
}

// Returns lines with the verdict on an annealing run; empty for other runs.
std::string annealing_text(const Json& summary) {
  if (!summary.contains("annealing")) return "";
  const Json& run = summary["annealing"];
  std::string text = fmt::format(
      "  annealed at temperatures {} in {} steps: {} s for all chains together; of the changes "
      "that raise the energy {} % would be accepted at the first and {} % at the last one\n",
      summary["anneal"].get<std::string>(), summary["burn_in"].get<int64_t>(),
      number(run["seconds"]), number(100 * run["uphill_accepted_first"].get<double>()),
      number(100 * run["uphill_accepted_last"].get<double>()));
  if (!run.contains("sought")) return text;
  const std::string sought = run["sought"] == "optimum" ? "optimum" : "best solution";
  const int64_t found = run["found_by"];
  const int64_t group = run.value("group", int64_t{1});
  text +=
      fmt::format("  {} of {} {} reached the {}", found, summary["chains"].get<int64_t>() / group,
                  group > 1 ? fmt::format("groups of {} chains", group) : "chains", sought);
  if (found > 0) {
    text += fmt::format(", on average after {} steps ({} s)", number(run["mean_step"]),
                        number(run["mean_seconds"]));
  }
  text += "\n";
  if (found == 0) {
    return text + fmt::format("  time to solution (99 %) at least {} s, at a level of 97.5 %\n",
                              number(run["time_to_solution_interval"][0]));
  }
  const std::string needed = number(run["chains_needed"]);
  return text +
         fmt::format(
             "  time to solution (99 %) {} s, the share of {} chain{} in the run's time ({} s "
             "each); 95 % interval {} to {} s\n",
             number(run["time_to_solution"]), needed, needed == "1" ? "" : "s",
             number(run["seconds_per_chain"]), number(run["time_to_solution_interval"][0]),
             number(run["time_to_solution_interval"][1]));
}

// Returns lines with the mixing of the chains, which an annealing run does not seek.
std::string mixing_text(const Json& summary) {
  if (summary.contains("annealing")) return "";
  const Json& ess = summary["ess"];
  const int64_t still = ess.value("stuck", int64_t{0});
  const std::string stuck =
      still > 0 ? fmt::format(", with 0 for each of the {} that stood still", still) : "";
  return fmt::format(
      "  bulk ESS of the {} over all chains {}, R-hat {}{}\n"
      "  ESS of the papers, a mean over chains: {} ± {} ({} per step, {} per second and chain){}\n",
      summary["statistic"].get<std::string>(), number(ess["bulk"]), number(summary["rhat"]),
      rhats_text(summary), number(ess["mean"]), number(ess["std"]), number(ess["per_step"]),
      number(ess["per_second"]), stuck);
}

// Returns a line that says how a graph's file was interpreted; empty for other models.
std::string graph_text(const Json& summary) {
  if (!summary.contains("graph")) return "";
  const Json& graph = summary["graph"];
  const auto count = [&](const char* key) { return graph[key].get<int64_t>(); };
  const std::string header = graph["header"];
  return fmt::format(
      "  graph: {} vertices ({} isolated) and {} edges; the {} file was read {} header and with {} "
      "as its first vertex; {} repeated edges count once\n",
      count("vertices"), count("isolated_vertices"), count("edges"),
      graph["format"].get<std::string>(),
      header == "none" ? "without a" : "with the '" + header + "'", count("first_vertex"),
      count("repeated_edges"));
}

// Returns a line that says how a quadratic function's file was interpreted; empty for other models.
std::string quadratic_text(const Json& summary) {
  if (!summary.contains("quadratic")) return "";
  const Json& read = summary["quadratic"];
  const auto count = [&](const char* key) { return read[key].get<int64_t>(); };
  return fmt::format(
      "  quadratic function: {} {} variables ({} isolated), {} linear terms, {} pairs and the "
      "offset {}; the {} file was read with {} as its first variable; {}; {} pairs in both "
      "directions and {} repeated lines were added up\n",
      count("variables"), read["variable_kind"].get<std::string>(), count("isolated_variables"),
      count("linear_terms"), count("pairs"), read["offset"].get<double>(),
      read["format"].get<std::string>(), count("first_variable"), read["sum"].get<std::string>(),
      count("both_directions"), count("repeated_lines"));
}

// Returns a line that says what a network's file holds; empty for other models.
std::string network_text(const Json& summary) {
  if (!summary.contains("network")) return "";
  const Json& read = summary["network"];
  const auto count = [&](const char* key) { return read[key].get<int64_t>(); };
  return fmt::format(
      "  network: {} with {} variables of {} to {} values and {} factors; {} variable{} "
      "observed ({})\n",
      read["network"].get<std::string>(), count("variables"), count("least_values"),
      count("most_values"), count("factors"), count("observed"),
      count("observed") == 1 ? " is" : "s are", read["evidence_from"].get<std::string>());
}

// Returns a line with the results of tempering; empty without tempering.
std::string tempering_text(const Json& summary) {
  if (!summary.contains("tempering")) return "";
  const Json& t = summary["tempering"];
  const auto rejection = t["rejection"].get<std::vector<double>>();
  return fmt::format(
      "  {} rungs: barrier {}, largest rejection rate of swaps {}; round trips per ensemble and "
      "scan {} ± {} (predicted from the rejections {}, at best {})\n"
      "  log Z {} ± {}\n",
      t["rungs"].get<int64_t>(), number(t["barrier"]),
      number(*std::max_element(rejection.begin(), rejection.end())), number(t["round_trip_rate"]),
      number(t["round_trip_rate_se"]), number(t["predicted_rate"]), number(t["best_rate"]),
      t["log_z"].is_number() ? fmt::format("{:.2f}", t["log_z"].get<double>()) : "undefined",
      number(t["log_z_se"]));
}

// Returns a line with the moves by the base; empty without them.
std::string base_moves_text(const Json& summary) {
  if (!summary.contains("base_moves")) return "";
  const Json& moves = summary["base_moves"];
  return fmt::format("  moves by the base: {} before each step, acceptance {}, hops per step {}\n",
                     moves["each_step"].get<int64_t>(), number(moves["acceptance"]),
                     number(moves["hops"]));
}

// Returns a line that says why the draws are not draws of the target; empty if they are.
std::string inexactness_text(const Json& summary) {
  if (summary["exact"].get<bool>()) return "";
  return summary.contains("annealing")
             ? "  not exact: after annealing, the draws are those of exp(-U/T) at the last "
               "temperature T\n"
             : "  not exact: with these options the sampler's stationary distribution differs from "
               "the target\n";
}

}  // namespace

std::string summary_text(const Json& summary, const std::string& directory) {
  const std::string worst =
      summary.contains("acceptance_worst_group")
          ? fmt::format(" (worst group {})", number(summary["acceptance_worst_group"]))
          : "";
  const std::string moved = summary.contains("moved") && summary["moved"].is_number()
                                ? fmt::format(", {:.3g} % of the steps changed the state",
                                              100 * summary["moved"].get<double>())
                                : "";
  return fmt::format(
      "{} by {}: {} chains, {} steps, {} draws\n"
      "  acceptance {}{}{}, hops per step {}\n"
      "  {} steps/s, {} model calls per chain\n"
      "{}{}{}{}{}{}  written to {}\n",
      summary["model"].get<std::string>(), summary["sampler"].get<std::string>(),
      summary["chains"].get<int64_t>(), summary["steps_done"].get<int64_t>(),
      summary["draws"].get<int64_t>(), number(summary["acceptance"]), worst, moved,
      number(summary["hops"]), number(summary["steps_per_second"]),
      summary["energy_evaluations"].get<int64_t>(), mixing_text(summary), base_moves_text(summary),
      tempering_text(summary),
      graph_text(summary) + quadratic_text(summary) + network_text(summary),
      solution_text(summary) + annealing_text(summary), inexactness_text(summary), directory);
}

}  // namespace isinglass
