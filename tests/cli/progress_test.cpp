// The rate from which the progress bar foretells the remaining time.
#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

namespace isinglass::progress_test {
namespace {

// Half a minute of preparation before the first step says nothing about the others.
TEST(RecentRate, LeavesOutTheFirstStep) {
  RecentRate rate;
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(30, 1);
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(31, 1001);
  EXPECT_EQ(rate.per_second(), 0);  // a second is too short
  rate.note(32, 2001);
  EXPECT_DOUBLE_EQ(rate.per_second(), 1000);
}

TEST(RecentRate, FollowsAChangeOfPace) {
  RecentRate rate;
  for (int second = 0; second <= 300; ++second) {
    rate.note(second, second <= 100 ? second : 100 + 10 * (second - 100));
  }
  EXPECT_DOUBLE_EQ(rate.per_second(), 10);
}

TEST(RecentRate, OfStepsLongerThanItsMinute) {
  RecentRate rate;
  for (int step = 0; step < 5; ++step) rate.note(step * 200, step);
  EXPECT_DOUBLE_EQ(rate.per_second(), 1.0 / 200);
}

}  // namespace
}  // namespace isinglass::progress_test
