// Decides whether an estimate of log Z can be trusted. It can if it is bounded from both sides: by
// annealed chains with enough effective weights each, whose upper bound started from chains that
// had mixed (docs/concepts/annealing.md), or by tempered chains that travel up and down their
// ladder (docs/concepts/tempering.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace isinglass {

inline constexpr double kLargestBracket = 1;  // nats
inline constexpr double kLargestRhat = 1.05;
inline constexpr double kLeastRoundTrips = 10;  // summed over all ensembles

struct ErrorInterval {
  double low, high;
};

// Estimates of log Z: too low on average, too high on average, and from the draws of both ends.
// The first two have standard errors of their own, so that they bound log Z on average only.
struct LogZBounds {
  double forward;
  std::optional<double> reverse = {}, both = {};
  // Standard errors of the first two; NaN if they are not known.
  double forward_se = std::numeric_limits<double>::quiet_NaN(), reverse_se = forward_se;

  // Returns the interval that is expected to hold log Z, from two standard errors below the lower
  // end to two above the upper one, also if the ends cross; nothing without both ends or without
  // their errors.
  std::optional<ErrorInterval> interval() const;
};

// Diagnostics of an estimate by annealing.
struct LogZDiagnostics {
  double log_z, weight_ess;  // forward direction
  int64_t chains;
  struct Reverse {
    double log_z, weight_ess;
    // R̂ of the chains that the reverse direction started from: 1 for exact draws, NaN if it is not
    // known.
    double rhat;
    // Round trips of the ladder that those chains were on, summed over all ensembles; infinite if
    // there was no ladder.
    double round_trips = std::numeric_limits<double>::infinity();
  };
  std::optional<Reverse> reverse = {};  // nullopt: the forward direction only
};

// Diagnostics of an estimate by tempering.
struct TemperedLogZDiagnostics {
  double log_z, log_z_upper;
  // Standard error of the estimate between the two bounds; NaN if there are too few ensembles.
  double standard_error;
  double round_trips;  // summed over all ensembles
  double rhat;         // R̂ of the energies at β = 1, between ensembles
};

struct BracketVerdict {
  bool closed = false;
  std::string reason = {};                      // why the bracket is open; empty if it is closed
  const char* other_end = "reverse annealing";  // the source of the upper bound

  const char* word() const { return closed ? "closed" : "open"; }
};

// Returns the verdict "closed" if reverse − forward is at most `largest_bracket` nats (and not
// below −largest_bracket, where the bounds would contradict each other), both weight ESS are at
// least kLeastWeightEss, R̂ is below kLargestRhat, and a ladder had at least kLeastRoundTrips.
// Otherwise returns "open" with every reason.
BracketVerdict verdict_on(const LogZDiagnostics& diagnostics,
                          double largest_bracket = kLargestBracket);
// Returns the verdict for tempering, by the same criteria. In place of the weight ESS it requires a
// standard error of at most half of `largest_bracket`, and at least kLeastRoundTrips round trips.
BracketVerdict verdict_on(const TemperedLogZDiagnostics& diagnostics,
                          double largest_bracket = kLargestBracket);

// The remark that accompanies a likelihood from forward annealing alone, which is biased by
// Jensen's inequality: E log Ẑ ≤ log Z.
inline constexpr const char* kForwardAlone = "forward annealing alone";
inline constexpr const char* kForwardBias =
    "Forward annealing underestimates log Z on average, and so overstates likelihoods.";
// The remark that accompanies a likelihood bounded from both sides.
inline constexpr const char* kBothWays =
    "Forward annealing overstates likelihoods on average, and reverse annealing from equilibrium "
    "understates them on average, so that the true value lies between the two within their errors. "
    "Intervals reach two standard errors beyond either. The bracket is closed when they agree.";
inline constexpr const char* kTemperedWays =
    "Going up the ladder of temperatures overstates likelihoods on average, and going down "
    "understates them on average, so that the true value lies between the two within their errors "
    "if the ensembles visit all modes. Intervals reach two standard errors beyond either.";

// Bounds on a likelihood and their text, e.g. "-95.2 nats (open: weight ESS 1.4 of 50; reverse
// annealing -99.8)" or "-99.5 nats (closed: from -99.8 to -99.2)".
struct LikelihoodBounds {
  double forward;                              // nats, from the lower log_z: too high on average
  std::optional<double> reverse = {};          // from the upper log_z
  std::optional<double> both = {};             // the bidirectional estimate
  std::optional<ErrorInterval> interval = {};  // that of log Z, as likelihoods

  // Returns the value to report: the bidirectional one if closed, otherwise the forward one.
  double quoted(const BracketVerdict& verdict) const { return verdict.closed ? *both : forward; }
};
std::string likelihood_text(const LikelihoodBounds& bounds, const BracketVerdict& verdict);

}  // namespace isinglass
