// See verdict.h.
#include "engine/annealing/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "engine/annealing/weights.h"

namespace isinglass {

BracketVerdict verdict_on(const Evidence& evidence, double largest_bracket) {
  std::vector<std::string> reasons;
  const auto weigh = [&](const char* what, double ess) {
    if (ess >= kLeastWeightEss) return;
    reasons.push_back(fmt::format("{} {:.1f} of {}", what, ess, evidence.chains));
  };
  if (!evidence.reverse) {
    weigh("weight ESS", evidence.weight_ess);
    reasons.emplace_back(kForwardAlone);
    return {false, fmt::format("{}", fmt::join(reasons, "; "))};
  }
  const Evidence::Reverse& reverse = *evidence.reverse;
  const double bracket = reverse.log_z - evidence.log_z;
  if (std::isnan(bracket)) {
    reasons.emplace_back("no bracket");
  } else if (bracket < -largest_bracket) {
    reasons.push_back(fmt::format("forward and reverse cross by {:.1f} nats", -bracket));
  } else if (bracket > largest_bracket) {
    reasons.push_back(fmt::format("bracket {:.1f} nats", bracket));
  }
  weigh("weight ESS", evidence.weight_ess);
  weigh("reverse weight ESS", reverse.weight_ess);
  if (std::isnan(reverse.rhat)) {
    reasons.emplace_back("R-hat of the reverse start is not known");
  } else if (!(reverse.rhat < kLargestRhat)) {
    reasons.push_back(fmt::format("R-hat {:.3f} of the reverse start", reverse.rhat));
  }
  return {reasons.empty(), fmt::format("{}", fmt::join(reasons, "; "))};
}

std::string likelihood_text(const LikelihoodBounds& bounds, const BracketVerdict& verdict) {
  const std::string nats = fmt::format("{:.1f} nats", bounds.quoted(verdict));
  if (verdict.closed) {
    return fmt::format("{} (closed: from {:.1f} to {:.1f})", nats, *bounds.reverse, bounds.forward);
  }
  const std::string reverse =
      bounds.reverse ? fmt::format("; reverse annealing {:.1f}", *bounds.reverse) : "";
  return fmt::format("{} (open: {}{})", nats, verdict.reason, reverse);
}

}  // namespace isinglass
