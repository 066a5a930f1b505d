// See claims.h.
#include "cli/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "cli/grid_rows.h"
#include "cli/metrics.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNormal95 = 1.96;
constexpr double kConverged = 1.1;  // R̂ above it: chains still drift, and their ESS means nothing

enum class Verdict { kSupported, kNotSupported, kUndecided };
constexpr const char* kVerdicts[] = {"supported", "not supported", "undecided"};

// "pas radius=2": the sampler, and every setting that is named.
bool selects(const std::string& selector, const Setting& setting) {
  std::istringstream in(selector);
  std::string word;
  if (!(in >> word) || word != setting.sampler) return false;
  while (in >> word) {
    const size_t equals = word.find('=');
    const auto found = setting.settings.find(word.substr(0, equals));
    if (found == setting.settings.end() || found->second != word.substr(equals + 1)) return false;
  }
  return true;
}

std::vector<Setting> selected(const std::vector<Setting>& settings, const std::string& model,
                              const std::vector<std::string>& selectors) {
  std::vector<Setting> found;
  for (const Setting& setting : settings) {
    const bool wanted = setting.model == model && std::any_of(selectors.begin(), selectors.end(),
                                                              [&](const std::string& selector) {
                                                                return selects(selector, setting);
                                                              });
    if (wanted && std::isfinite(setting.estimate.value)) found.push_back(setting);
  }
  return found;
}

std::optional<Setting> best_of(const std::vector<Setting>& settings, bool higher) {
  std::optional<Setting> best;
  for (const Setting& setting : settings) {
    const double value = setting.estimate.value;
    const bool better =
        !best || (higher ? value > best->estimate.value : value < best->estimate.value);
    if (better) best = setting;
  }
  return best;
}

// The best of samplers' ratios: the value at the axis' largest over the sampler's best value.
std::optional<Setting> least_degraded(const std::vector<Setting>& settings, const std::string& axis,
                                      bool higher) {
  std::map<std::string, std::vector<Setting>> samplers;
  for (const Setting& setting : settings) {
    if (setting.settings.contains(axis)) samplers[setting.sampler].push_back(setting);
  }
  std::vector<Setting> ratios;
  for (const auto& [name, own] : samplers) {
    const auto at = [&](const Setting& s) { return std::stod(s.settings.at(axis)); };
    const Setting last = *std::max_element(
        own.begin(), own.end(), [&](const auto& a, const auto& b) { return at(a) < at(b); });
    const Setting best = *best_of(own, higher);
    Setting ratio = last;
    ratio.estimate.value = last.estimate.value / best.estimate.value;
    ratio.estimate.error = at(last) == at(best)
                               ? 0
                               : std::abs(ratio.estimate.value) *
                                     added_errors(last.estimate.error / last.estimate.value,
                                                  best.estimate.error / best.estimate.value);
    ratios.push_back(ratio);
  }
  return best_of(ratios, higher);
}

Json side_json(const Setting& setting) {
  return {{"sampler", setting.sampler},
          {"settings", setting.settings},
          {"value", setting.estimate.value},
          {"se", setting.estimate.error}};
}

Verdict compare(const Claim& claim, const Setting& who, const Setting& than, bool higher) {
  const double sign = higher ? 1 : -1;
  const double difference = sign * (who.estimate.value - than.estimate.value);
  const double error = kNormal95 * added_errors(who.estimate.error, than.estimate.error);
  if (!std::isfinite(difference) || !std::isfinite(error)) return Verdict::kUndecided;
  if (claim.rule == "matches") {
    return difference >= -error ? Verdict::kSupported : Verdict::kNotSupported;
  }
  if (difference > error) return Verdict::kSupported;
  return difference < -error ? Verdict::kNotSupported : Verdict::kUndecided;
}

// R̂ of the setting's cells, NaN where undefined.
double rhat_of(const Json& rows, const Setting& setting) {
  for (const Setting& other : pooled(rows, "rhat")) {
    const bool same = other.model == setting.model && other.sampler == setting.sampler &&
                      other.settings == setting.settings;
    if (same) return other.estimate.value;
  }
  return NAN;
}

Json judge_model(const Claim& claim, const Json& rows, const std::string& model, Verdict& verdict) {
  const bool higher = find_metric(claim.metric, "claims").higher_is_better;
  const std::vector<Setting> settings = pooled(rows, claim.metric);
  const auto side = [&](const std::vector<std::string>& selectors) {
    const std::vector<Setting> found = selected(settings, model, selectors);
    return claim.rule == "degrades-less" ? least_degraded(found, claim.axis, higher)
                                         : best_of(found, higher);
  };
  const std::optional<Setting> who = side(claim.who), than = side(claim.than);
  verdict = who && than ? compare(claim, *who, *than, higher) : Verdict::kUndecided;
  Json json = {{"model", model}};
  const double rhat = who ? rhat_of(rows, *who) : NAN;
  if (claim.metric.starts_with("ess_") && rhat > kConverged) {
    verdict = Verdict::kUndecided;
    json["reason"] = fmt::format("not converged: R-hat of {} is {:.3g}", who->sampler, rhat);
  }
  json["verdict"] = kVerdicts[static_cast<int>(verdict)];
  if (who) json["who"] = side_json(*who);
  if (than) json["than"] = side_json(*than);
  return json;
}

}  // namespace

const std::vector<std::string>& claim_rules() {
  static const std::vector<std::string> rules = {"beats", "matches", "degrades-less"};
  return rules;
}

Json judge(const Claim& claim, const Json& rows) {
  Json models = Json::array();
  bool all = true, contradicted = false;
  for (const std::string& model : model_labels(rows)) {
    const auto& wanted = claim.models;
    const bool meant =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), model) != wanted.end();
    if (!meant) continue;
    Verdict verdict;
    models.push_back(judge_model(claim, rows, model, verdict));
    all &= verdict == Verdict::kSupported;
    contradicted |= verdict == Verdict::kNotSupported;
  }
  const Verdict verdict = contradicted             ? Verdict::kNotSupported
                          : all && !models.empty() ? Verdict::kSupported
                                                   : Verdict::kUndecided;
  return {{"claim", claim.text},    {"rule", claim.rule},
          {"metric", claim.metric}, {"who", claim.who},
          {"than", claim.than},     {"verdict", kVerdicts[static_cast<int>(verdict)]},
          {"models", models}};
}

}  // namespace isinglass
