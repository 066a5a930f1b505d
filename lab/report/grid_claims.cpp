// Implements the table of claims.
#include "lab/report/grid_claims.h"

#include <fmt/format.h>

#include <cmath>

#include "lab/grid/claims.h"
#include "lab/grid/metrics.h"
#include "lab/grid/rows.h"

namespace isinglass::report {
namespace {

Json claims_table(const Json& claims) {
  Json rows = Json::array();
  const auto side = [](const Json& model, const char* name, bool at_equilibrium) -> Json {
    if (!model.contains(name)) return nullptr;
    const Json& s = model[name];
    const auto number = [&](const char* key) {
      return s[key].is_number() ? s[key].get<double>() : NAN;
    };
    const Setting setting{"", s["sampler"], s["settings"], {}};
    std::string text = fmt::format("{}: {:.4g}", setting.label(), number("value"));
    if (std::isfinite(number("half"))) text += fmt::format(" ± {:.2g}", number("half"));
    if (at_equilibrium && !(number("rhat") <= kConvergedRhat)) {
      text += fmt::format(", R-hat {:.3g}", number("rhat"));
    }
    return text;
  };
  const auto interval = [](const Json& model) -> Json {
    const Json &low = model["interval"][0], &high = model["interval"][1];
    if (!low.is_number() || !high.is_number() || !std::isfinite(low.get<double>())) return nullptr;
    return fmt::format("{:.3g} to {:.3g}, {:.4g} %", low.get<double>(), high.get<double>(),
                       100 * model["level"].get<double>());
  };
  for (const Json& claim : claims) {
    const Metric& metric = find_metric(claim["metric"], "claims");
    const std::string text = fmt::format("{} ({}; {})", claim["claim"].get<std::string>(),
                                         metric.title, rule_text(claim));
    for (const Json& model : claim["models"]) {
      rows.push_back({text, claim["verdict"], model["model"], model["verdict"],
                      model.value("reason", ""), side(model, "who", metric.at_equilibrium),
                      side(model, "than", metric.at_equilibrium), interval(model)});
    }
  }
  return table("",
               {{"claim", true, true},
                {"verdict", true, false, true},
                {"model", true},
                {"on this model", true, false, true},
                {"note", true, true},
                {"who", true, true},
                {"compared with", true, true},
                {"difference", true, true}},
               rows);
}

// Explains in words how verdicts are reached (lab/grid/claims.h).
constexpr const char* kRule =
    "Each verdict follows from the measured numbers by a fixed rule. If a side has several "
    "settings, the best one is chosen on the first half of the repeats and compared on the second "
    "half, which must have at least three repeats. The number after ± is half the width of the 95 "
    "% interval by Student's t over the repeats. The difference (positive if the claimed side is "
    "better) has an interval of the same kind. Its level is 95 % for one model and higher for "
    "several, by Holm's rule, so that the probability that any verdict of a claim is wrong is at "
    "most 5 %. Beats: supported if the whole interval is above 0; not supported if its upper end "
    "is below the margin, the smallest advantage that counts. Matches: supported if the interval "
    "excludes that the side is worse by more than the margin. A side whose best setting is at an "
    "end of its sweep cannot lose, because a setting beyond that end might be better. Metrics that "
    "are measured at equilibrium need chains with R-hat of at most 1.1; settings with a larger "
    "R-hat are never chosen as the best, and a claim that one of them might overturn is undecided.";

}  // namespace

void add_claims(Page& page, const Json& claims, const std::vector<Row>& rows) {
  if (claims.empty()) return;
  page.add("Claims", kRule, {claims_table(judge_again(claims, rows))});
}

}  // namespace isinglass::report
