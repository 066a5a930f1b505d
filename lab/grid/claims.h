// A paper's claim as a rule on measured numbers, so that nobody writes the verdict by hand.
//
//   [[claims]]
//   text = "…"                       the claim in words
//   rule = "beats"                   one of the rules (rules/rule.h)
//   metric = "ess_per_evaluation"    (lab/grid/metrics.h)
//   who = ["pafs"]                   samplers, with settings where only some count: "pas radius=2"
//   than = ["lb", "gwg"]
//   models = ["critical"]            labels; left out: all
//   axis = "radius"                  of rules of shares
//   margin = 0.1                     what counts as a difference, as a share of the value of `than`
//
// For every model the best setting of each side is compared. Where a side has several settings, the
// best is chosen on the first half of the repeats, and its value is that of the second half: the
// luck that made it the best does not count. A verdict needs three repeats that judge on each side,
// so that a side with several settings needs five.
// Let d be the difference, positive where `who` is better, and [l, h] its interval
// (rules/interval.h); m = margin·|value of `than`|, 0 for metrics without a zero. A rule
// (rules/rule.h) decides from l, h and m: those of the presets are in rules/intervals.cpp. The
// interval is one of 95 % for a single model. For n models it misses with 5 % / n, and Holm's rule
// gives what is left to those that are not decided, so that all of a claim's verdicts together are
// wrong in 5 % of cases at most.
// A side cannot lose where its best setting is at an end of its sweep (rules/sweep.h), beyond which
// it might win, unless the option goes no further. It may win there. Of shares of the best value it
// is the other way round: a better best makes the share smaller.
// Numbers that are properties of the equilibrium (Metric::at_equilibrium) need chains that have
// converged, R̂ ≤ 1.1 in every repeat. A setting that has not is never the best. As its number
// flatters it, `who` is also compared with every unconverged setting of `than`, which can only make
// a claim undecided; and an unconverged setting of `who` that might be better keeps "not supported"
// undecided. A claim is undecided if the chosen setting of `who` has not converged.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isinglass {

struct Claim {
  std::string text, rule, metric, axis;
  std::vector<std::string> who, than, models;
  double margin = 0.1;
};

// Verdicts "supported", "not supported" or "undecided", with the numbers and, where undecided, the
// reason, from the rows of results.json: {claim, …, verdict, models: [{model, verdict, reason,
// who, than, difference, interval, level}]}, from which judge_again() reads the claim back.
// All models must support a claim, and one against it is enough.
nlohmann::ordered_json judge(const Claim& claim, const nlohmann::ordered_json& rows);

// The claims of results.json, judged from its rows by the rules of this program.
nlohmann::ordered_json judge_again(const nlohmann::ordered_json& claims,
                                   const nlohmann::ordered_json& rows);

// The rule of a claim in words, with its numbers: for pages.
std::string rule_text(const nlohmann::ordered_json& claim);

}  // namespace isinglass
