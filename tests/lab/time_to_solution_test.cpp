// The time to solution against numbers computed by hand.
#include "lab/run/time_to_solution.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isinglass::time_to_solution_test {
namespace {

// The interval of Clopper and Pearson for 7 of 100 is 0.0286 to 0.1389.
TEST(TimeToSolution, IsTheNumberOfChainsTimesTheTimeOfOne) {
  const TimeToSolution time = time_to_solution(100, 7, 20);
  EXPECT_DOUBLE_EQ(time.found.value, 0.07);
  EXPECT_NEAR(time.found.low, 0.0286, 5e-5);
  EXPECT_NEAR(time.found.high, 0.1389, 5e-5);
  const auto chains = [](double p) { return std::log(0.01) / std::log(1 - p); };
  EXPECT_NEAR(time.chains.value, 63.457, 1e-3);
  EXPECT_NEAR(time.chains.low, chains(time.found.high), 1e-9);
  EXPECT_NEAR(time.chains.high, chains(time.found.low), 1e-9);
  EXPECT_NEAR(time.seconds.value, 0.2 * 63.457, 1e-3);  // 20 s for 100 chains are 0.2 s for one
  EXPECT_LT(time.seconds.low, time.seconds.value);
  EXPECT_GT(time.seconds.high, time.seconds.value);
}

// Where no chain of n found it, p is at most 1 − 0.025^{1/n}.
TEST(TimeToSolution, HasALowerBoundWhereNoChainFoundIt) {
  const TimeToSolution time = time_to_solution(50, 0, 5);
  const double most = 1 - std::pow(0.025, 1.0 / 50);
  EXPECT_EQ(time.found.low, 0);
  EXPECT_NEAR(time.found.high, most, 1e-12);
  EXPECT_TRUE(std::isinf(time.seconds.value));
  EXPECT_TRUE(std::isinf(time.seconds.high));
  EXPECT_NEAR(time.seconds.low, 0.1 * std::log(0.01) / std::log(1 - most), 1e-9);
}

TEST(TimeToSolution, IsAtLeastTheTimeOfAChain) {
  const TimeToSolution time = time_to_solution(20, 20, 4);
  EXPECT_EQ(time.found.high, 1);
  EXPECT_NEAR(time.found.low, std::pow(0.025, 1.0 / 20), 1e-12);
  EXPECT_EQ(time.chains.value, 1);
  EXPECT_EQ(time.chains.low, 1);
  EXPECT_DOUBLE_EQ(time.seconds.value, 0.2);
  EXPECT_GT(time.chains.high, 1);
}

}  // namespace
}  // namespace isinglass::time_to_solution_test
