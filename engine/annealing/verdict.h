// Whether an estimate of log Z can be trusted: held from both ends, by enough weights each, and
// from above by chains that had mixed (docs/concepts/annealing.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace isinglass {

inline constexpr double kLargestBracket = 1;  // nats
inline constexpr double kLargestRhat = 1.05;

// What is known of an estimate.
struct Evidence {
  double log_z, weight_ess;  // forward
  int64_t chains;
  struct Reverse {
    double log_z, weight_ess;
    // Of the chains whose last states it started from: 1 of exact draws, NaN where it is not known.
    double rhat;
  };
  std::optional<Reverse> reverse = {};  // none: forward alone
};

struct BracketVerdict {
  bool closed = false;
  std::string reason = {};  // why it is open; empty: closed

  const char* word() const { return closed ? "closed" : "open"; }
};

// Closed: reverse − forward is at most `largest_bracket` nats (and no further below 0, where the
// bounds would contradict each other), both weight ESS are at least kLeastWeightEss and R̂ is below
// kLargestRhat. Else open, with every reason.
BracketVerdict verdict_on(const Evidence& evidence, double largest_bracket = kLargestBracket);

// What goes with a likelihood that rests on forward annealing alone (Jensen's inequality:
// E log Ẑ ≤ log Z) …
inline constexpr const char* kForwardAlone = "forward annealing alone";
inline constexpr const char* kForwardBias =
    "Forward annealing underestimates log Z on average, and so overstates likelihoods.";
// … and with one that is held from both ends.
inline constexpr const char* kBothWays =
    "Forward annealing overstates likelihoods on average, reverse annealing from equilibrium "
    "understates them: the truth lies between the two, which are closed when they agree.";

// "-95.2 nats (open: weight ESS 1.4 of 50; reverse annealing -99.8)",
// "-99.5 nats (closed: from -99.8 to -99.2)".
struct LikelihoodBounds {
  double forward;                      // nats, from log_z below: too high on average
  std::optional<double> reverse = {};  // from log_z above
  std::optional<double> both = {};     // bidirectional

  // The one to quote: both sides' when closed, else forward.
  double quoted(const BracketVerdict& verdict) const { return verdict.closed ? *both : forward; }
};
std::string likelihood_text(const LikelihoodBounds& bounds, const BracketVerdict& verdict);

}  // namespace isinglass
