// Implements the verdicts on estimates of log Z, and their texts.
#include "engine/annealing/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "engine/annealing/weights.h"

namespace isinglass {
namespace {

constexpr double kErrors = 2;  // An interval reaches so many standard errors beyond its ends.

// Returns why the two bounds form no bracket; empty if they do.
std::string bracket_reason(double bracket, double largest) {
  if (std::isnan(bracket)) return "no bracket";
  if (bracket < -largest) return fmt::format("forward and reverse cross by {:.1f} nats", -bracket);
  return bracket > largest ? fmt::format("bracket {:.1f} nats", bracket) : "";
}

BracketVerdict verdict_of(std::vector<std::string> reasons) {
  std::erase(reasons, "");
  return {reasons.empty(), fmt::format("{}", fmt::join(reasons, "; "))};
}

}  // namespace

std::optional<ErrorInterval> LogZBounds::interval() const {
  if (!reverse || std::isnan(forward_se) || std::isnan(reverse_se)) return {};
  const bool crossed = *reverse < forward;
  const double low = crossed ? *reverse - kErrors * reverse_se : forward - kErrors * forward_se;
  const double high = crossed ? forward + kErrors * forward_se : *reverse + kErrors * reverse_se;
  return ErrorInterval{low, high};
}

BracketVerdict verdict_on(const LogZDiagnostics& diagnostics, double largest_bracket) {
  std::vector<std::string> reasons;
  const auto weigh = [&](const char* what, double ess) {
    if (ess >= kLeastWeightEss) return;
    reasons.push_back(fmt::format("{} {:.1f} of {}", what, ess, diagnostics.chains));
  };
  if (!diagnostics.reverse) {
    weigh("weight ESS", diagnostics.weight_ess);
    reasons.emplace_back(kForwardAlone);
    return verdict_of(std::move(reasons));
  }
  const LogZDiagnostics::Reverse& reverse = *diagnostics.reverse;
  reasons.push_back(bracket_reason(reverse.log_z - diagnostics.log_z, largest_bracket));
  weigh("weight ESS", diagnostics.weight_ess);
  weigh("reverse weight ESS", reverse.weight_ess);
  if (std::isnan(reverse.rhat)) {
    reasons.emplace_back("R-hat of the reverse start is not known");
  } else if (!(reverse.rhat < kLargestRhat)) {
    reasons.push_back(fmt::format("R-hat {:.3f} of the reverse start", reverse.rhat));
  }
  if (!(reverse.round_trips >= kLeastRoundTrips)) {
    reasons.push_back(fmt::format("{:g} round trips of the reverse start", reverse.round_trips));
  }
  return verdict_of(std::move(reasons));
}

BracketVerdict verdict_on(const TemperedLogZDiagnostics& diagnostics, double largest_bracket) {
  std::vector<std::string> reasons = {
      bracket_reason(diagnostics.log_z_upper - diagnostics.log_z, largest_bracket)};
  if (std::isnan(diagnostics.standard_error)) {
    reasons.emplace_back("no standard error");
  } else if (diagnostics.standard_error > largest_bracket / 2) {
    reasons.push_back(fmt::format("standard error {:.1f} nats", diagnostics.standard_error));
  }
  if (!(diagnostics.round_trips >= kLeastRoundTrips)) {
    reasons.push_back(fmt::format("{:g} round trips", diagnostics.round_trips));
  }
  if (std::isnan(diagnostics.rhat)) {
    reasons.emplace_back("R-hat of the ensembles is not known");
  } else if (!(diagnostics.rhat < kLargestRhat)) {
    reasons.push_back(fmt::format("R-hat {:.3f} of the ensembles", diagnostics.rhat));
  }
  BracketVerdict verdict = verdict_of(std::move(reasons));
  verdict.other_end = "down the ladder";
  return verdict;
}

std::string likelihood_text(const LikelihoodBounds& bounds, const BracketVerdict& verdict) {
  const double quoted = bounds.quoted(verdict);
  const int digits = std::abs(quoted) < 10 ? 3 : 1;
  const std::string nats = fmt::format("{:.{}f} nats", quoted, digits);
  if (verdict.closed) {
    const ErrorInterval range =
        bounds.interval.value_or(ErrorInterval{*bounds.reverse, bounds.forward});
    return fmt::format("{} (closed: from {:.{}f} to {:.{}f})", nats, range.low, digits, range.high,
                       digits);
  }
  const std::string reverse =
      bounds.reverse ? fmt::format("; {} {:.{}f}", verdict.other_end, *bounds.reverse, digits) : "";
  return fmt::format("{} (open: {}{})", nats, verdict.reason, reverse);
}

}  // namespace isinglass
