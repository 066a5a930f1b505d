// Implements the registry of rules and the rules of the presets' claims, with [l, h] the interval
// and m the margin:
//
//   beats          supported if l > 0, however small l is; not supported if h < m, that is, if any
//                  advantage is smaller than counts
//   matches        supported if l ≥ −m; not supported if h < −m; a wide interval is undecided, as
//                  noise proves nothing
//   degrades-less  beats, applied to shares of the best value
#include "lab/grid/rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

#define ISINGLASS_CLAIM_RULES(rules) std::vector<ClaimRule> rules();
#include "lab/grid/rules/list.inc"
#undef ISINGLASS_CLAIM_RULES

namespace {

Verdict beats(const Interval& difference, double margin) {
  if (difference.low > 0) return Verdict::kSupported;
  return difference.high < margin ? Verdict::kNotSupported : Verdict::kUndecided;
}

Verdict matches(const Interval& difference, double margin) {
  if (difference.high < -margin) return Verdict::kNotSupported;
  return difference.low >= -margin ? Verdict::kSupported : Verdict::kUndecided;
}

std::string ignored(double percent) {
  return percent == 0 ? ""
                      : fmt::format(" (an advantage of less than {:g} % does not count)", percent);
}

}  // namespace

std::vector<ClaimRule> interval_rules() {
  return {{"beats", beats,
           [](double percent, const std::string&) { return "beats: better" + ignored(percent); }},
          {"matches", matches,
           [](double percent, const std::string&) {
             return "matches: not worse" +
                    (percent == 0 ? "" : fmt::format(" by more than {:g} %", percent));
           },
           /*better=*/false},
          {"degrades-less", beats,
           [](double percent, const std::string& axis) {
             return fmt::format(
                 "degrades less: keeps a larger share of its best value at the largest {}{}", axis,
                 ignored(percent));
           },
           /*better=*/true, /*shares=*/true}};
}

const std::vector<ClaimRule>& claim_rules() {
  static const std::vector<ClaimRule> all = [] {
    std::vector<ClaimRule> entries;
#define ISINGLASS_CLAIM_RULES(rules) \
  for (ClaimRule & rule : rules()) entries.push_back(std::move(rule));
#include "lab/grid/rules/list.inc"
#undef ISINGLASS_CLAIM_RULES
    return entries;
  }();
  return all;
}

const ClaimRule& find_claim_rule(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const ClaimRule& rule : claim_rules()) {
    if (rule.name == name) return rule;
    names.push_back(rule.name);
  }
  fail("{}: unknown rule '{}'; known: {}", where, name,
       fmt::join(nearest_first(name, names), ", "));
}

}  // namespace isinglass
