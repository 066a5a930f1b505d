// Implements the judging of claims on all of their models.
#include "lab/grid/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/grid/metrics.h"
#include "lab/grid/rows.h"
#include "lab/grid/rules/rule.h"
#include "lab/grid/rules/side.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;
using Settings = std::vector<Setting>;

constexpr const char* kVerdicts[] = {"supported", "not supported", "undecided"};

// Compares two sides on one model, at the level of its interval.
struct Comparison {
  Verdict verdict = Verdict::kUndecided;
  double difference = NAN, low = NAN, high = NAN;
};

Comparison compare(const Claim& claim, const Estimate& who, const Estimate& than, double level) {
  const Metric& metric = find_metric(claim.metric, "claims");
  const ClaimRule& rule = find_claim_rule(claim.rule, "claims");
  const bool higher = rule.shares || metric.higher_is_better;
  const Interval interval = higher ? difference(who, than, level) : difference(than, who, level);
  Comparison c;
  c.difference = (higher ? 1 : -1) * (who.value - than.value);
  c.low = interval.low;
  c.high = interval.high;
  if (!std::isfinite(c.low) || !std::isfinite(c.high)) return c;
  // Two equal values without error are no measurement, except for shares, which are exactly 1 if
  // nothing is lost.
  if (c.difference == 0 && c.low == c.high && !rule.shares) return c;
  const double margin = metric.has_zero || rule.shares ? claim.margin * std::abs(than.value) : 0;
  c.verdict = rule.decide(interval, margin);
  return c;
}

Json side_json(const Setting& setting) {
  return {{"sampler", setting.sampler},
          {"settings", setting.settings},
          {"value", setting.estimate.value},
          {"se", setting.estimate.error},
          {"half", half_width(setting.estimate)},
          {"repeats", setting.repeats},
          {"rhat", setting.rhat}};
}

std::string drifting(const Setting& setting) {
  return fmt::format("not converged: R-hat of {} is {:.3g}", setting.label(), setting.rhat);
}

// Returns why the verdict depends on where the sweeps end and not only on what was measured; "" if
// it does not.
std::string beyond_the_sweep(const Claim& claim, const Side& who, const Side& than,
                             Verdict verdict) {
  if (verdict == Verdict::kUndecided) return "";
  const bool shares = find_claim_rule(claim.rule, "claims").shares;
  // A better best setting would make the doubtful side win or, for shares, would lower the winner's
  // own share.
  const Side& doubtful = (verdict == Verdict::kSupported) == shares ? who : than;
  if (doubtful.ends().empty()) return "";
  return fmt::format("the best of {} is at the end of its sweep ({})", doubtful.best()->sampler,
                     doubtful.ends());
}

// Returns why the verdict on the chosen settings cannot stand: unconverged chains, unknown numbers,
// or sweeps that end too early; "" if it can. An unconverged number is too favourable to its
// setting, so that the setting may lose but not win.
std::string doubt(const Claim& claim, const Side& who, const Side& than, Verdict verdict,
                  double level) {
  if (!who.converged(*who.best())) return drifting(*who.best());
  const bool may_lose =
      verdict == Verdict::kSupported && find_claim_rule(claim.rule, "claims").better;
  if (!than.converged(*than.best()) && !may_lose) return drifting(*than.best());
  const Settings& open = verdict == Verdict::kSupported ? than.open() : who.open();
  if (verdict != Verdict::kUndecided && !open.empty()) {
    return open[0].label() + " has no defined number in every repeat, and might be better";
  }
  const auto might_be_better = [&](const Settings& settings, const auto& against) {
    for (const Setting& other : settings) {
      if (against(other) != verdict) return drifting(other) + ", which might be better";
    }
    return std::string();
  };
  std::string reason;
  if (verdict == Verdict::kSupported) {
    reason = might_be_better(than.unconverged(), [&](const Setting& other) {
      return compare(claim, who.best()->estimate, other.estimate, level).verdict;
    });
  }
  if (verdict == Verdict::kNotSupported) {
    reason = might_be_better(who.unconverged(), [&](const Setting& other) {
      return compare(claim, other.estimate, than.best()->estimate, level).verdict;
    });
  }
  return reason.empty() ? beyond_the_sweep(claim, who, than, verdict) : reason;
}

// Judges a claim on one of its models.
class OnModel {
 public:
  OnModel(const Claim& claim, const PooledRows& rows, const std::string& model, double level)
      : claim_(&claim),
        model_(model),
        who_(claim, rows, model, claim.who, level),
        than_(claim, rows, model, claim.than, level) {
    missing_ = who_.missing();
    if (missing_.empty()) missing_ = than_.missing();
  }

  Verdict verdict() const { return comparison_.verdict; }

  // Judges by intervals of this level, which is the same for every model that is still undecided.
  void judge(double level) {
    level_ = level;
    reason_ = missing_;
    if (!who_.best() || !than_.best()) return;
    const Estimate &who = who_.best()->estimate, &than = than_.best()->estimate;
    comparison_ = compare(*claim_, who, than, level);
    const bool open = comparison_.verdict == Verdict::kUndecided;
    if (reason_.empty()) reason_ = doubt(*claim_, who_, than_, comparison_.verdict, level);
    if (!reason_.empty()) {
      comparison_.verdict = Verdict::kUndecided;
    } else if (open && !std::isfinite(comparison_.low)) {
      reason_ = "no error is known";
    } else if (open && comparison_.low == comparison_.high) {
      reason_ = "both sides have the same number in every repeat";
    } else if (open) {
      const bool alone = compare(*claim_, who, than, kLevel).verdict != Verdict::kUndecided;
      reason_ = alone
                    ? fmt::format("within the error of {:.4g} %, by Holm's rule for several models",
                                  100 * level)
                    : "within the error";
    }
  }

  Json json() const {
    Json json = {{"model", model_}, {"verdict", kVerdicts[static_cast<int>(verdict())]}};
    if (!reason_.empty()) json["reason"] = reason_;
    if (who_.best()) json["who"] = side_json(*who_.best());
    if (than_.best()) json["than"] = side_json(*than_.best());
    json["difference"] = comparison_.difference;
    json["interval"] = {comparison_.low, comparison_.high};
    json["level"] = level_;
    return json;
  }

 private:
  const Claim* claim_;
  std::string model_;
  Side who_, than_;
  std::string missing_, reason_;
  Comparison comparison_;
  double level_ = kLevel;
};

// Applies Holm's rule: with n undecided models, all of them are judged by intervals with an error
// of 5 % / n. Each decision reduces n, and judging repeats until none is decided any more.
void judge_by_holm(std::vector<OnModel>& models) {
  auto left = static_cast<double>(models.size());
  for (double before = INFINITY; left > 0 && left < before;) {
    before = left;
    for (OnModel& model : models) {
      if (model.verdict() != Verdict::kUndecided) continue;
      model.judge(1 - (1 - kLevel) / before);
      if (model.verdict() != Verdict::kUndecided) --left;
    }
  }
}

std::vector<std::string> texts(const Json& claim, const char* key) {
  return claim.value(key, std::vector<std::string>{});
}

}  // namespace

Json judge(const Claim& claim, const std::vector<Row>& rows) {
  std::vector<std::string> labels = model_labels(rows);
  std::erase_if(labels, [&](const std::string& label) {
    const auto& wanted = claim.models;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), label) == wanted.end();
  });
  const double strictest =
      1 - (1 - kLevel) / static_cast<double>(std::max<size_t>(labels.size(), 1));
  const PooledRows numbers = pooled_rows(rows, claim.metric);
  std::vector<OnModel> on_models;
  for (const std::string& label : labels) on_models.emplace_back(claim, numbers, label, strictest);
  judge_by_holm(on_models);
  Json models = Json::array();
  bool all = true, contradicted = false;
  for (const OnModel& model : on_models) {
    models.push_back(model.json());
    all &= model.verdict() == Verdict::kSupported;
    contradicted |= model.verdict() == Verdict::kNotSupported;
  }
  const Verdict verdict = contradicted             ? Verdict::kNotSupported
                          : all && !models.empty() ? Verdict::kSupported
                                                   : Verdict::kUndecided;
  return {{"claim", claim.text},
          {"rule", claim.rule},
          {"metric", claim.metric},
          {"axis", claim.axis},
          {"who", claim.who},
          {"than", claim.than},
          {"of_models", claim.models},
          {"margin", claim.margin},
          {"verdict", kVerdicts[static_cast<int>(verdict)]},
          {"models", models}};
}

Json judge_again(const Json& claims, const std::vector<Row>& rows) {
  Json judged = Json::array();
  for (const Json& claim : claims) {
    judged.push_back(judge({.text = claim["claim"],
                            .rule = claim["rule"],
                            .metric = claim["metric"],
                            .axis = claim.value("axis", ""),
                            .who = texts(claim, "who"),
                            .than = texts(claim, "than"),
                            .models = texts(claim, "of_models"),
                            .margin = claim.value("margin", Claim().margin)},
                           rows));
  }
  return judged;
}

std::string rule_text(const Json& claim) {
  const ClaimRule& rule = find_claim_rule(claim["rule"], "claims");
  const bool counts = rule.shares || find_metric(claim["metric"], "claims").has_zero;
  return rule.words(counts ? 100 * claim.value("margin", Claim().margin) : 0,
                    claim.value("axis", ""));
}

}  // namespace isinglass
