// Writes the section of a page for an evaluation, from ais.json, and for an evaluation of missing
// pixels, from conditional.json.
#include <fmt/format.h>

#include <cmath>

#include "engine/annealing/verdict.h"
#include "lab/page/page.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

constexpr double kNormal95 = 1.96;  // half the width of a 95 % interval, in standard errors

// Returns "closed" or "open: …", the verdict and the reason of ais.json. Files of earlier versions
// have neither; they hold forward annealing only.
std::string verdict_of(const Json& ais) {
  const Json word = ais.value("verdict", Json()), reason = ais.value("reason", Json());
  if (word.is_string()) {
    const std::string text = word.get<std::string>();
    return reason.is_string() ? text + ": " + reason.get<std::string>() : text;
  }
  const auto number = [&](const char* key) {
    const Json value = ais.value(key, Json());
    return value.is_number() ? value.get<double>() : std::nan("");
  };
  const auto chains = static_cast<int64_t>(ais.value("chains", Json(0)).get<double>());
  return "open: " +
         verdict_on(LogZDiagnostics{number("log_z"), number("weight_ess"), chains}).reason;
}

// Holds the three values of a split. A plain number is the forward value.
struct Bounds {
  Json forward, reverse, both;

  explicit Bounds(const Json& value) {
    if (!value.is_object()) {
      forward = value;
      return;
    }
    forward = value.value("forward", Json());
    reverse = value.value("reverse", Json());
    both = value.value("bidirectional", Json());
  }
};

// Returns the results with log Z, its errors and its interval as texts of as many digits as the
// program prints.
Json with_log_z_as_text(Json ais) {
  for (auto& [key, value] : ais.items()) {
    if (!key.starts_with("log_z")) continue;
    if (value.is_number()) value = fmt::format("{:.3f}", value.get<double>());
    if (value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number()) {
      value = fmt::format("{:.3f} to {:.3f}", value[0].get<double>(), value[1].get<double>());
    }
  }
  return ais;
}

void add_evaluation(Page& page, const fs::path& directory) {
  const Json ais = read_json(directory / "ais.json");
  const std::string verdict = verdict_of(ais);
  const bool tempered = ais.value("method", std::string("ais")) == "tempering";
  page.title = std::string("Evaluation by ") +
               (tempered ? "parallel tempering" : "annealed importance sampling");
  page.add("", "Verdict: " + verdict + ".",
           {facts_of(with_log_z_as_text(ais), {"model",
                                               "sampler",
                                               "path",
                                               "schedule",
                                               "chains",
                                               "burn_in",
                                               "steps",
                                               "log_z",
                                               "log_z_se",
                                               "weight_ess",
                                               "log_z_upper",
                                               "log_z_upper_se",
                                               "weight_ess_reverse",
                                               "log_z_bidirectional",
                                               "log_z_bidirectional_se",
                                               "log_z_base",
                                               "log_z_base_se",
                                               "log_z_by_base_weights",
                                               "log_z_by_base_weights_se",
                                               "base_weight_ess",
                                               "bracket",
                                               "log_z_interval",
                                               "rhat",
                                               "acceptance",
                                               "seconds",
                                               "device",
                                               "seed",
                                               "version"})});
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
      series.push_back({{"label", tempered ? "from above" : "from above, reverse annealing"},
                        {"x", {temperatures.front(), temperatures.back()}},
                        {"y", {upper, upper}}});
    }
    const char* steps = tempered ? "scans" : "temperatures";
    page.add("Convergence", fmt::format("log Z against the number of {}.", steps),
             {charts("", {line_chart("log Z", {steps, true}, {"log Z"}, series)})});
  }
  Json rows = Json::array();
  const Json likelihoods = ais.value("log_likelihood", Json::object());
  for (const auto& [split, value] : likelihoods.items()) {
    const Bounds nats(value);
    const auto other = [&ais, &split = split](const char* key) {
      return ais.value(key, Json::object()).value(split, Json());
    };
    rows.push_back({split, nats.forward, nats.reverse, nats.both, verdict, other("bits_per_dim"),
                    other("baseline"), other("baseline_bits_per_dim")});
  }
  if (rows.empty()) return;
  page.add("Log-likelihood", ais.value("note", std::string(kForwardBias)),
           {table("",
                  {{"split", true},
                   {"nats per image, forward"},
                   {"in reverse"},
                   {"both ways"},
                   {"verdict", true},
                   {"bits per dimension"},
                   {"independent sites, nats"},
                   {"bits per dimension"}},
                  rows)});
}

void add_conditional(Page& page, const fs::path& directory) {
  const Json found = read_json(directory / "conditional.json");
  page.title = fmt::format("Missing pixels of {} by {}", found.value("dataset", "?"),
                           found.value("model", "?"));
  page.add("",
           fmt::format("{} of {} verdicts are closed.", found["closed"].get<int64_t>(),
                       found["done"].get<int64_t>()),
           {facts_of(found, {"model", "sampler", "dataset", "missing", "sites"})});
  Json rows = Json::array();
  const Json means = found["log_likelihood"];
  // Returns the mean over images with half the width of its 95 % interval.
  const auto mean = [&](const char* bound) -> Json {
    if (!means[bound].is_object()) return {};
    const Json error = means[bound]["standard_error"];
    if (!error.is_number()) return means[bound]["mean"];
    return {{"value", means[bound]["mean"]}, {"half", kNormal95 * error.get<double>()}};
  };
  rows.push_back(
      Json::array({"mean", mean("forward"), mean("reverse"), mean("bidirectional"), ""}));
  for (size_t i = 0; i < found["images"].size(); ++i) {
    const Json& image = found["images"][i];
    const Bounds nats(image["log_likelihood"]);
    rows.push_back(
        {fmt::format("image {}", i), nats.forward, nats.reverse, nats.both, verdict_of(image)});
  }
  page.add(
      "Log-likelihood of the missing pixels given the others",
      "The mean over images is followed by half the width of its 95 % interval.",
      {table("",
             {{"image", true}, {"nats, forward"}, {"in reverse"}, {"both ways"}, {"verdict", true}},
             rows)});
}

}  // namespace

std::vector<Section> evaluation_sections() {
  return {{"ais.json", add_evaluation}, {"conditional.json", add_conditional}};
}

}  // namespace isinglass::report
