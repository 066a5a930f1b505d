// The tests for divergence, on given differences and acceptances.
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "io/error.h"

namespace isinglass::divergence_test {
namespace {

constexpr int64_t kSites = 100;

using Course = std::function<double(int64_t)>;

// Returns the iteration (from 1) at which a course of differences and acceptances is detected as
// divergent; 0 if it is not.
int64_t seen_at(const Course& difference, int64_t iterations, const Course& acceptance = nullptr) {
  Divergence divergence(kSites);
  for (int64_t t = 1; t <= iterations; ++t) {
    try {
      acceptance ? divergence.check(difference(t), acceptance(t)) : divergence.check(difference(t));
    } catch (const NumericalError&) {
      return t;
    }
  }
  return 0;
}

TEST(DivergenceTest, FarApartForAHundredIterationsInARow) {
  EXPECT_EQ(seen_at([](int64_t t) { return t > 7 ? -100.1 : 0; }, 300), 107);
  EXPECT_EQ(seen_at([](int64_t t) { return t % 100 ? 150.0 : 0; }, 2000), 0);
}

double alternating(int64_t t) {
  return t % 2 ? 1.5 : -1.5;
}

// After 2500 iterations of ±1.5, U(data) − U(chains) rises by 20.
TEST(DivergenceTest, DriftBeyondTheSpreadBefore) {
  const auto drifting = [](int64_t t) { return alternating(t) + (t > 2500 ? 20 : 0); };
  int64_t expected = 0;
  for (int64_t t = 2500; expected == 0; ++t) {
    double mean = 0, square = 0;
    for (int64_t i = t - 199; i <= t; ++i) mean += drifting(i) / 200;
    for (int64_t i = t - 2199; i <= t - 200; ++i) square += drifting(i) * drifting(i) / 2000;
    if (std::abs(mean) > 5 * std::sqrt(square) && std::abs(mean) > 2) expected = t;
  }
  EXPECT_LT(expected, 2600);
  EXPECT_EQ(seen_at(drifting, 4000), expected);
}

TEST(DivergenceTest, HealthyCoursesPass) {
  // The chains are random images at first, far from the data; later the difference vanishes.
  EXPECT_EQ(seen_at([](int64_t t) { return alternating(t) - 60 * std::exp(-t / 500.0); }, 6000), 0);
  // The difference is small at first; then there is noise, and a mean below a fiftieth of a nat per
  // site.
  EXPECT_EQ(seen_at([](int64_t t) { return alternating(t) * (t > 2500 ? 1 : 1e-3) + 1.9; }, 6000),
            0);
}

// .6, and .05 from iteration 700 on.
double collapsing(int64_t t) {
  return t < 700 ? 0.6 : 0.05;
}

// Chains that accept 0.9998 of their steps until iteration 276, and others.
TEST(DivergenceTest, StepsThatHardlyMoveTheChains) {
  const Scale step{.name = "step-size", .initial = 0.02};
  const auto said = [&](int64_t iterations, const Course& acceptance) {
    Divergence divergence(kSites);
    for (int64_t t = 1; t <= iterations; ++t) divergence.check(0, acceptance(t));
    return divergence.small_steps(step);
  };
  EXPECT_EQ(said(276, [](int64_t) { return 0.9998; }),
            "; the step size is too small: with `step-size` 0.02 the mean acceptance of the last "
            "50 iterations is 0.9998");
  EXPECT_NE(said(276, [](int64_t t) { return t <= 226 ? 0.5 : 0.9901; }), "");
  EXPECT_EQ(said(276, [](int64_t t) { return t <= 226 ? 1 : 0.9899; }), "");
  EXPECT_EQ(said(49, [](int64_t) { return 1; }), "");
  EXPECT_EQ(said(276, [](int64_t) { return NAN; }), "");
}

TEST(DivergenceTest, ChainsThatAreStuck) {
  int64_t expected = 0;
  for (int64_t t = 700; expected == 0; ++t) {
    double now = 0;
    for (int64_t i = t - 49; i <= t; ++i) now += collapsing(i) / 50;
    if (now < 0.6 / 5) expected = t;
  }
  EXPECT_LT(expected, 750);
  EXPECT_EQ(seen_at(alternating, 2000, collapsing), expected);
  const auto course = [](const Course& acceptance) {
    return seen_at(alternating, 3000, acceptance);
  };
  // Acceptance falls to a quarter; to zero, but slowly; for forty iterations only; to zero at the
  // very beginning.
  EXPECT_EQ(course([](int64_t t) { return t < 700 ? 0.6 : 0.15; }), 0);
  EXPECT_EQ(course([](int64_t t) { return 0.6 * std::exp(-t / 200.0); }), 0);
  EXPECT_EQ(course([](int64_t t) { return t < 700 || t >= 740 ? 0.6 : 0.05; }), 0);
  EXPECT_EQ(course([](int64_t t) { return t < 200 ? 1.0 : 0.05; }), 0);
  // Nothing moves, and nothing did before.
  EXPECT_EQ(course([](int64_t) { return 0.0; }), 0);
}

// Ten skipped iterations in a row diverge; nine, and again nine after an update, do not.
TEST(DivergenceTest, IterationsWithoutAnUpdate) {
  Divergence first(kSites);
  for (int i = 0; i < 9; ++i) first.skipped("the loss is nan");
  first.updated();
  for (int i = 0; i < 9; ++i) first.skipped("the loss is nan");
  Divergence second(kSites);
  second.restore(first.memory());
  for (Divergence* divergence : {&first, &second}) {
    try {
      divergence->skipped("the loss is nan");
      ADD_FAILURE() << "no divergence";
    } catch (const NumericalError& error) {
      EXPECT_STREQ(error.what(), "the loss is nan, and 10 iterations in a row made no update");
    }
  }
}

// Warnings come with the second report in a row, and again after a report that passes.
TEST(DivergenceTest, DiagnosticsOfChainsAreWarnedOfOnce) {
  const auto warned = [](auto check, const std::vector<double>& reports) {
    std::vector<size_t> at;
    Divergence::Memory memory = Divergence(kSites).memory();
    for (size_t i = 0; i < reports.size(); ++i) {
      Divergence resumed(kSites);
      resumed.restore(memory);
      if (!(resumed.*check)(reports[i]).empty()) at.push_back(i);
      memory = resumed.memory();
    }
    return at;
  };
  EXPECT_EQ(warned(&Divergence::check_autocorrelation,
                   {0.9, 0.7, 0.8, 0.8, 1, 1, NAN, 0.9, 0.2, 0.95, 0.95}),
            (std::vector<size_t>{3, 10}));
  EXPECT_EQ(warned(&Divergence::check_spread, {0, 0.2, 0.19, 0, 0, 0.21, 0.1, 1.1, 0, 0}),
            (std::vector<size_t>{3, 9}));
  Divergence divergence(kSites);
  divergence.check_spread(0.1);
  EXPECT_EQ(divergence.check_spread(0.034),
            "the chains are nearly all alike: two of them differ in 0.034 times as many sites as "
            "two training images, and the time before in less than 0.2 times as many; tempered "
            "chains or more steps per iteration may help");
}

// Returns what a run is told that ends after the given number of iterations.
std::string told_at_end(const Course& course, int64_t iterations, bool losses = false) {
  Divergence::Memory memory = Divergence(kSites).memory();
  for (int64_t t = 1; t <= iterations; ++t) {
    Divergence divergence(kSites);
    divergence.restore(memory);
    losses ? divergence.add_loss(course(t)) : divergence.check(course(t));
    memory = divergence.memory();
  }
  Divergence divergence(kSites);
  divergence.restore(memory);
  return divergence.at_end();
}

TEST(DivergenceTest, ARunThatEndsApartIsWarnedOf) {
  const auto growing = [](int64_t t) { return t <= 50 ? alternating(t) : -50 - 10.0 * (t - 50); };
  EXPECT_EQ(told_at_end(growing, 64), "");  // beyond 100 nats for nine iterations
  EXPECT_EQ(
      told_at_end(growing, 65),
      "training ended while it diverged: the mean energies of data and chains differ by -200, "
      "and by more than 100 (one nat per site) in each of the last 10 iterations; a lower "
      "learning rate may help, and docs/howto/training-diverges.md names more remedies");
  // Healthy: chains begin far from the data, one iteration is near, a short run.
  EXPECT_EQ(told_at_end([](int64_t t) { return -250 * std::exp(-t / 200.0); }, 50), "");
  EXPECT_EQ(told_at_end([](int64_t t) { return t == 60 ? 0.0 : -250.0; }, 65), "");
  EXPECT_EQ(told_at_end([](int64_t t) { return -100.0 * t; }, 19), "");
}

TEST(DivergenceTest, ARunWhoseLossEndsHighIsWarnedOf) {
  EXPECT_EQ(told_at_end([](int64_t t) { return t <= 50 ? 2.0 : 32.0; }, 60, true),
            "training ended while it diverged: the mean loss of the last 10 iterations is 32, and "
            "the first loss was 2; a lower learning rate may help, and "
            "docs/howto/training-diverges.md names more remedies");
  EXPECT_EQ(told_at_end([](int64_t t) { return t <= 50 ? 2.0 : 32.0; }, 52, true), "");
  EXPECT_EQ(told_at_end([](int64_t t) { return t == 1 ? 2.0 : 1e3; }, 10, true), "");
  EXPECT_NE(told_at_end([](int64_t t) { return t == 1 ? 2.0 : 1e12 / t; }, 40, true), "");
  // A loss that may be negative is lower the larger it is then.
  EXPECT_EQ(told_at_end([](int64_t t) { return -0.5 * t; }, 60, true), "");
}

TEST(DivergenceTest, ARestoredOneGoesOn) {
  const auto resumes = [](const Course& difference, const Course& acceptance,
                          const std::vector<int64_t>& moments) {
    const int64_t expected = seen_at(difference, 4000, acceptance);
    ASSERT_GT(expected, 0);
    for (const int64_t moment : moments) {
      Divergence first(kSites), second(kSites);
      for (int64_t t = 1; t <= moment; ++t) first.check(difference(t), acceptance(t));
      EXPECT_EQ(first.memory().differences.numel(), std::min<int64_t>(moment, 2200));
      EXPECT_EQ(first.memory().acceptances.numel(), std::min<int64_t>(moment, 450));
      second.restore(first.memory());
      for (int64_t t = moment + 1; t < expected; ++t) second.check(difference(t), acceptance(t));
      EXPECT_THROW(second.check(difference(expected), acceptance(expected)), NumericalError)
          << moment;
    }
  };
  const auto steady = [](int64_t) { return 0.6; };
  resumes([](int64_t t) { return alternating(t) + (t > 2500 ? 20 : 0); }, steady,
          {1, 700, 2201, 2503});
  resumes([](int64_t) { return 101; }, steady, {60});
  resumes(alternating, collapsing, {300, 702});
}

}  // namespace
}  // namespace isinglass::divergence_test
