// See summaries.h.
#include "cli/terminal/summaries.h"

#include <fmt/format.h>

#include <cmath>

namespace isinglass {

using Json = nlohmann::ordered_json;

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
