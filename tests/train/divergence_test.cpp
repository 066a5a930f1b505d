// The two tests for divergence against plain sums over planted differences.
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kSites = 100;

// The iteration (from 1) at which a course of differences is seen to diverge; 0: it is not.
int64_t seen_at(const std::function<double(int64_t)>& difference, int64_t iterations) {
  Divergence divergence(kSites);
  for (int64_t t = 1; t <= iterations; ++t) {
    try {
      divergence.check(difference(t));
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

// After 2500 iterations of ±1.5, U(data) − U(chains) is 20 more.
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
  // Random images at first, far from the chains; then none of it.
  EXPECT_EQ(seen_at([](int64_t t) { return alternating(t) - 60 * std::exp(-t / 500.0); }, 6000), 0);
  // Hardly anything at first; then noise, and a mean below a fiftieth of a nat a site.
  EXPECT_EQ(seen_at([](int64_t t) { return alternating(t) * (t > 2500 ? 1 : 1e-3) + 1.9; }, 6000),
            0);
}

TEST(DivergenceTest, ARestoredOneGoesOn) {
  const auto drifting = [](int64_t t) { return alternating(t) + (t > 2500 ? 20 : 0); };
  const int64_t expected = seen_at(drifting, 4000);
  for (const int64_t moment : {1, 700, 2201, 2503}) {
    Divergence first(kSites), second(kSites);
    for (int64_t t = 1; t <= moment; ++t) first.check(drifting(t));
    EXPECT_EQ(first.differences().numel(), std::min<int64_t>(moment, 2200));
    second.restore(first.iterations_apart(), first.differences());
    for (int64_t t = moment + 1; t < expected; ++t) second.check(drifting(t));
    EXPECT_THROW(second.check(drifting(expected)), NumericalError) << moment;
  }
  Divergence apart(kSites), restored(kSites);
  for (int64_t t = 1; t <= 60; ++t) apart.check(101);
  restored.restore(apart.iterations_apart(), apart.differences());
  for (int64_t t = 61; t < 100; ++t) restored.check(101);
  EXPECT_THROW(restored.check(101), NumericalError);
}

}  // namespace
}  // namespace isinglass
