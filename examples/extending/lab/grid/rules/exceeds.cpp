// Rule for claims that a sampler is better by more than the margin. With [l, h] the interval of the
// difference and m the margin, a claim is supported if l > m and not supported if h < m.
#include <fmt/format.h>

#include "lab/grid/rules/rule.h"

namespace isinglass {

std::vector<ClaimRule> exceeds_rules() {
  const auto decide = [](const Interval& difference, double margin) {
    if (difference.low > margin) return Verdict::kSupported;
    return difference.high < margin ? Verdict::kNotSupported : Verdict::kUndecided;
  };
  const auto words = [](double percent, const std::string&) {
    return fmt::format("exceeds: better by more than {:g} %", percent);
  };
  return {{"exceeds", decide, words}};
}

}  // namespace isinglass
