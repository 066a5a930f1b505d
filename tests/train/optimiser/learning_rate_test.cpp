// Schedules of the learning rate against their formulas.
#include "train/optimiser/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/scratch.h"

namespace isinglass::learning_rate_test {
namespace {

LearningRate rate(const std::string& schedule) {
  return {.peak = 0.8, .end = 0.2, .warmup = 10, .schedule = rate_schedule(schedule), .to = 110};
}

TEST(LearningRateTest, RisesOverTheWarmUp) {
  for (const std::string& name : rate_schedules()) {
    for (int64_t t = 1; t <= 10; ++t) EXPECT_DOUBLE_EQ(rate(name).at(t), 0.08 * t) << name;
  }
}

TEST(LearningRateTest, FollowsTheFormulas) {
  const double pi = std::acos(-1.0);
  for (int64_t t = 11; t <= 110; ++t) {
    const double s = (t - 10) / 100.0;
    EXPECT_EQ(rate("constant").at(t), 0.8);
    EXPECT_NEAR(rate("linear").at(t), 0.8 - 0.6 * s, 1e-15);
    EXPECT_NEAR(rate("cosine").at(t), 0.5 + 0.3 * std::cos(pi * s), 1e-15);
    EXPECT_NEAR(rate("inverse").at(t), 0.2 + 0.6 * (1 / (1 + 9 * s) - 0.1) / 0.9, 1e-15);
  }
  for (const char* name : {"linear", "cosine", "inverse"}) {
    EXPECT_NEAR(rate(name).at(110), 0.2, 1e-15) << name;
    for (int64_t t = 11; t <= 110; ++t) EXPECT_LT(rate(name).at(t), rate(name).at(t - 1)) << name;
  }
}

TEST(LearningRateTest, ALaterPlanDescendsFromThePeak) {
  LearningRate later = rate("linear");
  later.from = 60;
  EXPECT_EQ(later.at(60), 0.8);
  EXPECT_NEAR(later.at(85), 0.5, 1e-15);
  EXPECT_NEAR(later.at(110), 0.2, 1e-15);
  later.from = 4;  // during the warm-up, which continues
  EXPECT_NEAR(later.at(60), 0.5, 1e-15);
}

TEST(LearningRateTest, AnUnknownScheduleIsRefused) {
  EXPECT_EQ(name_of(rate_schedule("cosine")), "cosine");
  EXPECT_ERROR(rate_schedule("stepped"), "constant, linear, cosine, inverse");
}

}  // namespace
}  // namespace isinglass::learning_rate_test
