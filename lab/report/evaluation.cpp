// The page of an evaluation: ais.json.
#include <cmath>

#include "engine/annealing/ais.h"
#include "lab/report/page.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

// Of an evaluation's weights; empty where they suffice or are not known.
std::string warning_of(const Json& ais) {
  if (!ais.contains("weight_ess") || !ais.contains("chains")) return "";
  const double ess = ais["weight_ess"].is_number() ? ais["weight_ess"].get<double>() : NAN;
  const std::string warning = weights_warning(ess, ais["chains"]);
  return warning.empty() ? "" : "Warning: " + warning + ".";
}

void add_evaluation(Page& page, const fs::path& directory) {
  const Json ais = read_json(directory / "ais.json");
  page.title = "Evaluation by annealed importance sampling";
  page.add("", warning_of(ais),
           {facts_of(ais, {"model", "sampler", "schedule", "chains", "steps", "log_z", "log_z_se",
                           "log_z_upper", "log_z_upper_se", "weight_ess", "acceptance", "seconds",
                           "device", "seed", "version"})});
  std::vector<double> temperatures, log_z;
  for (const Json& point : ais.value("curve", Json::array())) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number())
      continue;
    temperatures.push_back(point[0]);
    log_z.push_back(point[1]);
  }
  if (!temperatures.empty()) {
    Json series = Json::array();
    series.push_back({{"label", "log Z, from below"}, {"x", temperatures}, {"y", log_z}});
    if (ais.value("log_z_upper", Json()).is_number()) {
      const double upper = ais["log_z_upper"];
      series.push_back({{"label", "from above, reverse annealing"},
                        {"x", {temperatures.front(), temperatures.back()}},
                        {"y", {upper, upper}}});
    }
    page.add("Convergence", "log Z against the number of temperatures.",
             {charts("", {line_chart("log Z", {"temperatures", true}, {"log Z"}, series)})});
  }
  Json rows = Json::array();
  const Json likelihoods = ais.value("log_likelihood", Json::object());
  for (const auto& [split, value] : likelihoods.items()) {
    const auto other = [&](const char* key) {
      return ais.value(key, Json::object()).value(split, Json());
    };
    rows.push_back({split, value, other("bits_per_dim"), other("baseline")});
  }
  if (rows.empty()) return;
  const std::string warning = warning_of(ais);
  page.add("Log-likelihood", kForwardBias + (warning.empty() ? "" : " " + warning),
           {table("",
                  {{"split", true},
                   {"nats per image"},
                   {"bits per dimension"},
                   {"independent pixels, nats"}},
                  rows)});
}

}  // namespace

std::vector<Section> evaluation_sections() {
  return {{"ais.json", add_evaluation}};
}

}  // namespace isinglass::report
