// Implements the registry of rules.
#include "lab/grid/rules/rule.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

#define ISINGLASS_CLAIM_RULES(rules) std::vector<ClaimRule> rules();
#include "lab/grid/rules/list.inc"
#undef ISINGLASS_CLAIM_RULES

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
