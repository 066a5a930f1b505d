// Whether an estimate of log Z can be trusted: held from both ends, by annealed chains with enough
// weights each and from above by chains that had mixed (docs/concepts/annealing.md), or by tempered
// ones that go up and down their ladder (docs/concepts/tempering.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace isinglass {

inline constexpr double kLargestBracket = 1;  // nats
inline constexpr double kLargestRhat = 1.05;
inline constexpr double kLeastRoundTrips = 10;  // of all ensembles

// log Z: too low on average, too high on average, and from both ends' draws.
struct LogZBounds {
  double forward;
  std::optional<double> reverse = {}, both = {};
};

// What is known of an estimate by annealing.
struct Evidence {
  double log_z, weight_ess;  // forward
  int64_t chains;
  struct Reverse {
    double log_z, weight_ess;
    // Of the chains whose last states it started from: 1 of exact draws, NaN where it is not known.
    double rhat;
    // Of the ladder that those were on, all ensembles together; infinite where there was none.
    double round_trips = std::numeric_limits<double>::infinity();
  };
  std::optional<Reverse> reverse = {};  // none: forward alone
};

// The same of one by tempering.
struct TemperedEvidence {
  double log_z, log_z_upper;
  double standard_error;  // of the estimate between the two; NaN: too few ensembles
  double round_trips;     // of all ensembles together
  double rhat;            // of the energies at β = 1 between ensembles
};

struct BracketVerdict {
  bool closed = false;
  std::string reason = {};                      // why it is open; empty: closed
  const char* other_end = "reverse annealing";  // what its upper bound comes from

  const char* word() const { return closed ? "closed" : "open"; }
};

// Closed: reverse − forward is at most `largest_bracket` nats (and no further below 0, where the
// bounds would contradict each other), both weight ESS are at least kLeastWeightEss, R̂ is below
// kLargestRhat, and a ladder had kLeastRoundTrips. Else open, with every reason.
BracketVerdict verdict_on(const Evidence& evidence, double largest_bracket = kLargestBracket);
// The same, with at most half the bracket of a standard error and kLeastRoundTrips in place of the
// weights.
BracketVerdict verdict_on(const TemperedEvidence& evidence,
                          double largest_bracket = kLargestBracket);

// What goes with a likelihood that rests on forward annealing alone (Jensen's inequality:
// E log Ẑ ≤ log Z) …
inline constexpr const char* kForwardAlone = "forward annealing alone";
inline constexpr const char* kForwardBias =
    "Forward annealing underestimates log Z on average, and so overstates likelihoods.";
// … and with one that is held from both ends.
inline constexpr const char* kBothWays =
    "Forward annealing overstates likelihoods on average, reverse annealing from equilibrium "
    "understates them: the truth lies between the two, which are closed when they agree.";
inline constexpr const char* kTemperedWays =
    "Going up the ladder of temperatures overstates likelihoods on average, going down understates "
    "them: the truth lies between the two, if the ensembles visit all modes.";

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
