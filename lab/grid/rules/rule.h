// The rules of claims by name: where the interval of the difference must lie.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/grid/rules/interval.h"

namespace isinglass {

enum class Verdict { kSupported, kNotSupported, kUndecided };

struct ClaimRule {
  std::string name;
  // difference: positive where `who` is better. margin: what counts as a difference, in the
  // metric's unit; 0 for metrics without a zero.
  std::function<Verdict(const Interval& difference, double margin)> decide;
  // The rule in words, for pages. percent: the margin's share; 0 for metrics without a zero.
  std::function<std::string(double percent, const std::string& axis)> words;
  bool better = true;   // "supported" says that `who` is better, and not only as good
  bool shares = false;  // of the share of its best value that a sampler keeps at the axis' largest
};

// Those of list.inc, whose sources hold the entries.
const std::vector<ClaimRule>& claim_rules();

// The rule, or an Error that lists the known ones, the nearest first; `where` begins the message.
const ClaimRule& find_claim_rule(const std::string& name, const std::string& where);

}  // namespace isinglass
