// A claim of being better by more than what counts, with [l, h] the interval and m the margin:
// supported if l > m, not supported if h < m.
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
