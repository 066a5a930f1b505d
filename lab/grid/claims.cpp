// See claims.h.
#include "lab/grid/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "engine/diagnostics/normal_quantile.h"
#include "lab/grid/metrics.h"
#include "lab/grid/rows.h"
#include "lab/grid/rules/rule.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;
using Settings = std::vector<Setting>;

constexpr const char* kVerdicts[] = {"supported", "not supported", "undecided"};

// 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom, as in any table of it.
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

// Rounded down to whole degrees of freedom, the wider side; NaN below 1.
double student(double freedom) {
  if (!(freedom >= 1)) return NAN;
  if (freedom > 1000) return kNormal975;
  const auto whole = static_cast<size_t>(freedom);
  return whole <= kStudent.size() ? kStudent[whole - 1] : kStudent.back();
}

// A comparison of two sides on one model.
struct Comparison {
  Verdict verdict = Verdict::kUndecided;
  double difference = NAN, low = NAN, high = NAN;
};

Comparison compare(const Claim& claim, const Estimate& who, const Estimate& than) {
  const Metric& metric = find_metric(claim.metric, "claims");
  const ClaimRule& rule = find_claim_rule(claim.rule, "claims");
  const bool higher = rule.shares || metric.higher_is_better;
  const double a = who.error * who.error, b = than.error * than.error;
  // Welch–Satterthwaite; an exact number has no share in it
  const double shares = (a > 0 ? a * a / who.freedom : 0) + (b > 0 ? b * b / than.freedom : 0);
  const double freedom =
      shares > 0 ? (a + b) * (a + b) / shares : std::numeric_limits<double>::infinity();
  Comparison c;
  c.difference = (higher ? 1 : -1) * (who.value - than.value);
  const double width = student(freedom) * std::sqrt(a + b);
  c.low = c.difference - width;
  c.high = c.difference + width;
  if (!std::isfinite(c.low) || !std::isfinite(c.high)) return c;
  // The same number with no error is no measurement, but of shares: 1 where nothing is lost.
  if (c.difference == 0 && width == 0 && !rule.shares) return c;
  const double margin = metric.has_zero || rule.shares ? claim.margin * std::abs(than.value) : 0;
  c.verdict = rule.decide({c.low, c.high}, margin);
  return c;
}

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

// Those with a defined number, or those without.
Settings selected(const Settings& settings, const std::string& model,
                  const std::vector<std::string>& selectors, bool defined = true) {
  Settings found;
  for (const Setting& setting : settings) {
    const bool wanted = setting.model == model && std::any_of(selectors.begin(), selectors.end(),
                                                              [&](const std::string& selector) {
                                                                return selects(selector, setting);
                                                              });
    if (wanted && std::isfinite(setting.estimate.value) == defined) found.push_back(setting);
  }
  return found;
}

const Setting* find_same(const Settings& settings, const Setting& setting) {
  for (const Setting& other : settings) {
    if (other.sampler == setting.sampler && other.settings == setting.settings) return &other;
  }
  return nullptr;
}

const Setting* best_of(const Settings& settings, bool higher) {
  const auto better = [&](const Setting& a, const Setting& b) {
    return higher ? a.estimate.value < b.estimate.value : a.estimate.value > b.estimate.value;
  };
  const auto best = std::max_element(settings.begin(), settings.end(), better);
  return best == settings.end() ? nullptr : &*best;
}

// Of each sampler: the value at the axis' largest over its best one. The best is chosen among
// `first`, and both values are of `second`. Where the largest is the best, the share is 1, and exactly
// so if it is certainly better than the next best; else it has the error of their ratio. Nothing of
// a sampler with a single value.
Settings ratios_to_best(const Settings& first, const Settings& second, const std::string& axis,
                        bool higher) {
  std::map<std::string, Settings> samplers;
  for (const Setting& setting : first) {
    if (setting.settings.contains(axis)) samplers[setting.sampler].push_back(setting);
  }
  Settings ratios;
  for (auto& [name, own] : samplers) {
    const auto at = [&](const Setting& s) { return std::stod(s.settings.at(axis)); };
    const auto last = std::max_element(own.begin(), own.end(),
                                       [&](const auto& a, const auto& b) { return at(a) < at(b); });
    const Setting at_last = *last;
    const Setting *top = find_same(second, at_last),
                  *best = find_same(second, *best_of(own, higher));
    own.erase(last);
    const Setting* next = own.empty() ? nullptr : find_same(second, *best_of(own, higher));
    if (!top || !best || !next) continue;
    const Estimate& t = top->estimate;
    const Estimate& b = top == best ? next->estimate : best->estimate;
    const double to_other = t.value / b.value;
    const double error = std::abs(to_other) * added_errors(t.error / t.value, b.error / b.value);
    const double freedom = std::min(t.freedom, b.freedom);
    const double lead = higher ? to_other - 1 : 1 - to_other;
    const bool certain = top == best && lead > student(freedom) * error;
    Setting ratio = *top;
    ratio.estimate = {top == best ? 1 : to_other, certain ? 0 : error, freedom};
    if (!(best->rhat <= ratio.rhat)) ratio.rhat = best->rhat;
    ratios.push_back(ratio);
  }
  return ratios;
}

// The settings of one side of a claim: to choose among, and to compare.
class Side {
 public:
  Side(const Claim& claim, const Json& rows, const std::string& model,
       const std::vector<std::string>& selectors)
      : needs_convergence_(find_metric(claim.metric, "claims").at_equilibrium) {
    const auto side = [&](Repeats which) {
      return selected(pooled(rows, claim.metric, which), model, selectors);
    };
    const bool higher = find_metric(claim.metric, "claims").higher_is_better;
    all_ = side(Repeats::kAll);
    open_ = selected(pooled(rows, claim.metric, Repeats::kAll), model, selectors, false);
    std::erase_if(open_, [&](const Setting& setting) {
      return setting.failed == 0 && !find_metric(claim.metric, "claims").unknown_where_undefined;
    });
    const bool choice = all_.size() > 1;
    chosen_on_ = side(choice ? Repeats::kFirstHalf : Repeats::kAll);
    compared_on_ = side(choice ? Repeats::kSecondHalf : Repeats::kAll);
    const bool shares = find_claim_rule(claim.rule, "claims").shares;
    if (shares) {
      all_ = ratios_to_best(all_, all_, claim.axis, higher);
      const Settings ratios = ratios_to_best(chosen_on_, compared_on_, claim.axis, higher);
      chosen_on_ = ratios_to_best(chosen_on_, chosen_on_, claim.axis, higher);
      compared_on_ = ratios;
    }
    higher_ = higher || shares;
    choose();
  }

  const std::optional<Setting>& best() const { return best_; }
  bool converged(const Setting& s) const { return !needs_convergence_ || s.converged(); }
  const Settings& open() const { return open_; }  // of which a number is not known

  // The settings that the chosen one was not chosen from, or might be better than it.
  Settings unconverged() const {
    Settings others;
    for (const Setting& s : all_) {
      const bool chosen = best_ && s.sampler == best_->sampler && s.settings == best_->settings;
      if (!converged(s) && !chosen) others.push_back(s);
    }
    return others;
  }

  // Why there is nothing to compare; "" if there is.
  std::string missing(const std::vector<std::string>& selectors) const {
    if (best_) return "";
    if (all_.empty()) return fmt::format("no defined number of {}", fmt::join(selectors, ", "));
    return fmt::format("one repeat cannot both choose the best of {} settings of {} and judge it",
                       all_.size(), fmt::join(selectors, ", "));
  }

 private:
  // Among those that have converged, if any has.
  void choose() {
    Settings candidates;
    for (const bool only_converged : {true, false}) {
      for (const Setting& s : chosen_on_) {
        const Setting* whole = find_same(all_, s);
        const bool counts = whole && find_same(compared_on_, s);
        if (counts && (!only_converged || converged(*whole))) candidates.push_back(s);
      }
      if (!candidates.empty()) break;
    }
    const Setting* chosen = best_of(candidates, higher_);
    if (!chosen) return;
    best_ = *find_same(compared_on_, *chosen);
    best_->rhat = find_same(all_, *chosen)->rhat;
  }

  bool needs_convergence_, higher_;
  Settings all_, chosen_on_, compared_on_, open_;
  std::optional<Setting> best_;
};

Json side_json(const Setting& setting) {
  return {{"sampler", setting.sampler},      {"settings", setting.settings},
          {"value", setting.estimate.value}, {"se", setting.estimate.error},
          {"repeats", setting.repeats},      {"rhat", setting.rhat}};
}

std::string drifting(const Setting& setting) {
  return fmt::format("not converged: R-hat of {} is {:.3g}", setting.label(), setting.rhat);
}

// Why the verdict on the chosen settings cannot stand, for chains that have not converged or numbers that
// are not known; "" if it can. An unconverged number flatters its setting, so that it may lose but not win.
std::string doubt(const Claim& claim, const Side& who, const Side& than, Verdict verdict) {
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
  if (verdict == Verdict::kSupported) {
    return might_be_better(than.unconverged(), [&](const Setting& other) {
      return compare(claim, who.best()->estimate, other.estimate).verdict;
    });
  }
  if (verdict == Verdict::kNotSupported) {
    return might_be_better(who.unconverged(), [&](const Setting& other) {
      return compare(claim, other.estimate, than.best()->estimate).verdict;
    });
  }
  return "";
}

Json judge_model(const Claim& claim, const Json& rows, const std::string& model, Verdict& verdict) {
  const Side who(claim, rows, model, claim.who), than(claim, rows, model, claim.than);
  Comparison c;
  std::string reason = who.missing(claim.who);
  if (reason.empty()) reason = than.missing(claim.than);
  if (reason.empty()) {
    c = compare(claim, who.best()->estimate, than.best()->estimate);
    reason = doubt(claim, who, than, c.verdict);
    if (!reason.empty()) c.verdict = Verdict::kUndecided;
    if (c.verdict == Verdict::kUndecided && reason.empty()) {
      reason = !std::isfinite(c.low) ? "no error is known"
               : c.low == c.high     ? "both sides have the same number in every repeat"
                                     : "within the error";
    }
  }
  verdict = c.verdict;
  Json json = {{"model", model}, {"verdict", kVerdicts[static_cast<int>(verdict)]}};
  if (!reason.empty()) json["reason"] = reason;
  if (who.best()) json["who"] = side_json(*who.best());
  if (than.best()) json["than"] = side_json(*than.best());
  json["difference"] = c.difference;
  json["interval"] = {c.low, c.high};
  return json;
}

std::vector<std::string> texts(const Json& claim, const char* key) {
  return claim.value(key, std::vector<std::string>{});
}

}  // namespace

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

Json judge_again(const Json& claims, const Json& rows) {
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
