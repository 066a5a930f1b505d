// Declares the registry of the rules of claims, by name. A rule says where the interval of the
// difference must lie.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/grid/rows.h"

namespace isinglass {

enum class Verdict { kSupported, kNotSupported, kUndecided };

struct ClaimRule {
  std::string name;
  // Decides from the difference, which is positive if `who` is better, and the margin, the smallest
  // difference that counts, in the metric's unit (0 for metrics without a zero).
  std::function<Verdict(const Interval& difference, double margin)> decide;
  // Returns the rule in words, for pages. percent is the margin in % (0 for metrics without a
  // zero).
  std::function<std::string(double percent, const std::string& axis)> words;
  bool better = true;  // "supported" means that `who` is better; if false, that it is not worse.
  // Compares the share of its best value that a sampler keeps at the largest value of the axis.
  bool shares = false;
};

// Returns the rules of list.inc, whose source files hold the entries.
const std::vector<ClaimRule>& claim_rules();

// Returns the rule. Throws Error that lists the known ones, the nearest first; `where` begins the
// message.
const ClaimRule& find_claim_rule(const std::string& name, const std::string& where);

}  // namespace isinglass
