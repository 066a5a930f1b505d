// Expresses a paper's claim as a rule on measured numbers, so that the verdict is computed and not
// written by hand.
//
//   [[claims]]
//   text = "…"                       the claim in words
//   rule = "beats"                   one of the rules (rules/rule.h)
//   metric = "ess_per_evaluation"    the metric (lab/grid/metrics.h)
//   who = ["pafs"]                   samplers, with settings if only some count: "pas radius=2"
//   than = ["lb", "gwg"]             the baselines
//   models = ["critical"]            labels of models; default: all
//   axis = "radius"                  option along which rules of shares compare
//   margin = 0.1                     smallest difference that counts, as a share of `than`'s value
//
// For every model, the best setting of each side is compared. If a side has several settings, the
// best is chosen on the first half of the repeats and its value is taken from the second half, so
// that the luck that made it the best does not count. A verdict needs three judging repeats on each
// side; a side with several settings therefore needs five.
//
// Let d be the difference, positive if `who` is better, and [l, h] its interval (rows.h);
// let m = margin·|value of `than`|, or 0 for metrics without a zero. A rule (rules/rule.h) decides
// from l, h and m; the rules of the presets are in rules/rule.cpp. The level of the interval
// is 95 % for a single model. With n models each interval starts at an error of 5 % / n, and Holm's
// rule passes the error of decided models on to the undecided ones, so that the probability of any
// wrong verdict in a claim is at most 5 %.
//
// A side cannot lose if its best setting is at an end of its sweep (rules/side.h), as a value
// beyond the end might win, unless the option goes no further. It may win there. For rules of
// shares of the best value it is the other way round, as a better best value makes the share
// smaller.
//
// Metrics that are properties of the equilibrium (Metric::at_equilibrium) need converged chains, R̂
// ≤ 1.1 in every repeat. An unconverged setting is never the best. As its value is too favourable,
// `who` is also compared with every unconverged setting of `than`, which can only turn the verdict
// into undecided; and an unconverged setting of `who` that might be better turns "not supported"
// into undecided. A claim is undecided if the chosen setting of `who` has not converged.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/grid/rows.h"

namespace isinglass {

struct Claim {
  std::string text, rule, metric, axis;
  std::vector<std::string> who, than, models;
  double margin = 0.1;
};

// Returns the verdict "supported", "not supported" or "undecided" with its numbers and, if
// undecided, the reason, from the rows of results.json: {claim, …, verdict, models: [{model,
// verdict, reason, who, than, difference, interval, level}]}. judge_again() reads the claim back
// from it. A claim is supported if all models support it, and not supported if one model
// contradicts it.
nlohmann::ordered_json judge(const Claim& claim, const std::vector<Row>& rows);

// Judges the claims of results.json again, from its rows and by the rules of this program.
nlohmann::ordered_json judge_again(const nlohmann::ordered_json& claims,
                                   const std::vector<Row>& rows);

// Returns the rule of a claim in words, with its numbers, for pages.
std::string rule_text(const nlohmann::ordered_json& claim);

}  // namespace isinglass
