// Verdicts at their thresholds, and their texts.
#include "engine/annealing/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isinglass::verdict_test {
namespace {

// Returns the diagnostics of 50 chains; closed by default.
LogZDiagnostics diagnostics(double bracket = 0.5, double ess = 20, double ess_reverse = 20,
                            double rhat = 1.01,
                            double round_trips = std::numeric_limits<double>::infinity()) {
  return {-100, ess, 50, LogZDiagnostics::Reverse{-100 + bracket, ess_reverse, rhat, round_trips}};
}

template <class Of>
void expect_open(const Of& of, const std::string& reason, double largest = kLargestBracket) {
  const BracketVerdict verdict = verdict_on(of, largest);
  EXPECT_FALSE(verdict.closed) << reason;
  EXPECT_STREQ(verdict.word(), "open");
  EXPECT_EQ(verdict.reason, reason);
}

template <class Of>
void expect_closed(const Of& of, double largest = kLargestBracket) {
  const BracketVerdict verdict = verdict_on(of, largest);
  EXPECT_TRUE(verdict.closed) << verdict.reason;
  EXPECT_STREQ(verdict.word(), "closed");
  EXPECT_EQ(verdict.reason, "");
}

TEST(Verdict, ClosedUpToItsLimits) {
  expect_closed(diagnostics());
  expect_closed(diagnostics(1));
  expect_closed(diagnostics(-1));
  expect_closed(diagnostics(2.5), 2.5);
  expect_closed(diagnostics(0, 10, 10, std::nextafter(1.05, 0)));
  expect_closed(diagnostics(0, 20, 20, 1.01, 10));
}

TEST(Verdict, OpenBeyondEachOfThem) {
  expect_open(diagnostics(1.01), "bracket 1.0 nats");
  expect_open(diagnostics(0.5), "bracket 0.5 nats", 0.25);
  expect_open(diagnostics(-1.2), "forward and reverse cross by 1.2 nats");
  expect_open(diagnostics(0, 9.94), "weight ESS 9.9 of 50");
  expect_open(diagnostics(0, 20, 1.44), "reverse weight ESS 1.4 of 50");
  expect_open(diagnostics(0, 20, 20, 1.05), "R-hat 1.050 of the reverse start");
  expect_open(diagnostics(0, 20, 20, 1.01, 9), "9 round trips of the reverse start");
  expect_open(
      diagnostics(4, 2, 3, 1.6),
      "bracket 4.0 nats; weight ESS 2.0 of 50; reverse weight ESS 3.0 of 50; R-hat 1.600 of "
      "the reverse start");
}

TEST(Verdict, OpenWhereSomethingIsNotKnown) {
  expect_open(LogZDiagnostics{-100, 20, 50}, "forward annealing alone");
  expect_open(LogZDiagnostics{-100, 1.44, 50}, "weight ESS 1.4 of 50; forward annealing alone");
  expect_open(diagnostics(std::nan("")), "no bracket");
  expect_open(diagnostics(0, std::nan("")), "weight ESS nan of 50");
  expect_open(diagnostics(0, 20, 20, std::nan("")), "R-hat of the reverse start is not known");
}

// Returns the diagnostics of ensembles; closed by default.
TemperedLogZDiagnostics tempered(double bracket = 0.5, double error = 0.1, double round_trips = 30,
                                 double rhat = 1.01) {
  return {-100, -100 + bracket, error, round_trips, rhat};
}

TEST(Verdict, OfEnsembles) {
  expect_closed(tempered());
  expect_closed(tempered(1, 0.5, 10, std::nextafter(1.05, 0)));
  expect_closed(tempered(-1));
  expect_closed(tempered(2.5, 1.2), 2.5);
  expect_open(tempered(1.01), "bracket 1.0 nats");
  expect_open(tempered(-1.2), "forward and reverse cross by 1.2 nats");
  expect_open(tempered(0, 0.51), "standard error 0.5 nats");
  expect_open(tempered(0, 0.1, 9), "9 round trips");
  expect_open(tempered(0, 0.1, 30, 1.05), "R-hat 1.050 of the ensembles");
  const double unknown = std::nan("");
  expect_open(
      tempered(unknown, unknown, unknown, unknown),
      "no bracket; no standard error; nan round trips; R-hat of the ensembles is not known");
  EXPECT_EQ(likelihood_text({-95.21, -99.84, -97.5}, verdict_on(tempered(4))),
            "-95.2 nats (open: bracket 4.0 nats; down the ladder -99.8)");
}

TEST(Verdict, GoesWithEveryLikelihood) {
  const LikelihoodBounds forward{-95.21}, both{-95.21, -99.84, -97.5};
  const BracketVerdict alone = verdict_on(LogZDiagnostics{-100, 1.44, 50});
  const BracketVerdict few = verdict_on(diagnostics(0.5, 1.44)), closed = verdict_on(diagnostics());
  EXPECT_EQ(likelihood_text(forward, alone),
            "-95.2 nats (open: weight ESS 1.4 of 50; forward annealing alone)");
  EXPECT_EQ(likelihood_text(both, few),
            "-95.2 nats (open: weight ESS 1.4 of 50; reverse annealing -99.8)");
  EXPECT_EQ(likelihood_text(both, closed), "-97.5 nats (closed: from -99.8 to -95.2)");
  EXPECT_EQ(both.quoted(few), -95.21);
  EXPECT_EQ(both.quoted(closed), -97.5);
}

// An interval reaches two standard errors beyond both ends, and a closed likelihood shows it.
TEST(Verdict, IntervalsContainTheErrorsOfTheirEnds) {
  const LogZBounds log_z{-10, -9.5, -9.8, 0.1, 0.25};
  const std::optional<ErrorInterval> interval = log_z.interval();
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, -10.2, 1e-12);
  EXPECT_NEAR(interval->high, -9, 1e-12);
  const std::optional<ErrorInterval> crossed = LogZBounds{-9, -10, -9.5, 0.1, 0.1}.interval();
  EXPECT_NEAR(crossed->low, -10.2, 1e-12);
  EXPECT_NEAR(crossed->high, -8.8, 1e-12);
  EXPECT_FALSE((LogZBounds{-10}.interval()));
  EXPECT_FALSE((LogZBounds{-10, -9.5, -9.8, 0.1, std::nan("")}.interval()));
  LikelihoodBounds likelihood{-95.21, -99.84, -97.5};
  likelihood.interval = ErrorInterval{-100.2, -94.9};
  EXPECT_EQ(likelihood_text(likelihood, verdict_on(diagnostics())),
            "-97.5 nats (closed: from -100.2 to -94.9)");
}

}  // namespace
}  // namespace isinglass::verdict_test
