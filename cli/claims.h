// A paper's claim as a rule on measured numbers, so that nobody writes the verdict by hand.
//
//   [[claims]]
//   text = "…"                       the claim in words
//   rule = "beats"                   one of the predicates below
//   metric = "ess_per_evaluation"    (cli/metrics.h)
//   who = ["pafs"]                   samplers, with settings where only some count: "pas radius=2"
//   than = ["lb", "gwg"]
//   models = ["critical"]            labels; left out: all
//   axis = "radius"                  of degrades-less
//
// For every model the best cell of each side is compared, repeats pooled:
//   beats          who is better than `than` by more than the error
//   matches        who is not worse than `than` by more than the error
//   degrades-less  who keeps more of its best value at the largest value of the axis
// The error is 1.96 standard errors of the difference. A claim of ESS stays undecided where R̂ of
// `who` is above 1.1: its chains have not converged.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isinglass {

struct Claim {
  std::string text, rule, metric, axis;
  std::vector<std::string> who, than, models;
};

const std::vector<std::string>& claim_rules();

// Verdicts "supported", "not supported" or "undecided" (within the error, or nothing measured),
// with the numbers, from the rows of results.json: {claim, verdict, models: [{model, verdict, …}]}.
// All models must support a claim, and one against it is enough.
nlohmann::ordered_json judge(const Claim& claim, const nlohmann::ordered_json& rows);

}  // namespace isinglass
