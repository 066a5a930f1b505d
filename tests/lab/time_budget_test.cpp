// The number of steps for a given time, with a clock that the test moves.
#include "lab/run/time_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace isinglass::time_budget_test {
namespace {

// A machine on which a call takes `start` seconds and each step `each`.
struct Machine {
  double start, each, now = 100;
  std::vector<int64_t> calls = {};

  int64_t burn_in(const TimeBudget& budget) {
    return burn_in_within(
        budget,
        [&](int64_t steps) {
          calls.push_back(steps);
          now += start + each * static_cast<double>(steps);
        },
        [&] { return now; });
  }
};

TEST(BurnInWithin, FillsTheTime) {
  for (const double each : {1e-6, 1e-4, 1e-2}) {
    for (const double seconds : {5.0, 60.0}) {
      Machine machine{0, each};
      const int64_t steps = machine.burn_in({.seconds = seconds, .after = 10});
      const double measured = machine.now - 100;
      EXPECT_LE(measured, 0.2 * seconds + each);
      EXPECT_NEAR(measured + each * static_cast<double>(steps + 10), seconds, 2 * each);
    }
  }
}

// 4 % of 100 s are 4000 steps of 1 ms, which 2, 4, …, 4096 steps reach in 8.19 s; the other 91.81 s
// are 91 810 steps, of which 500 follow burn-in.
TEST(BurnInWithin, DoublesTheMeasurement) {
  Machine machine{0, 1e-3};
  EXPECT_NEAR(static_cast<double>(machine.burn_in({.seconds = 100, .after = 500})), 91310, 1);
  EXPECT_EQ(machine.calls.size(), 12U);
  EXPECT_EQ(machine.calls.back(), 4096);
}

// A start of 1 ms a call is in the last measurement, of 0.4 s and more, only once.
TEST(BurnInWithin, IsHardlyMisledByTheStartOfACall) {
  Machine machine{1e-3, 1e-5};
  const int64_t steps = machine.burn_in({.seconds = 10});
  const double whole = machine.now - 100 + 1e-5 * static_cast<double>(steps);
  EXPECT_NEAR(whole, 10, 0.05);
}

TEST(BurnInWithin, StaysWithinItsBounds) {
  Machine slow{0, 30};
  EXPECT_EQ(slow.burn_in({.seconds = 1, .least = 2}), 2);
  Machine stopped{0, 0};  // a clock that stands still
  EXPECT_EQ(stopped.burn_in({.seconds = 1, .after = 5, .most = 1000}), 995);
}

// Three million steps are those of three populations of 1000 chains that make 1000 steps each.
TEST(PopulationWithin, HasAsManyChainsAsSteps) {
  EXPECT_EQ(population_within(3e6, 3), 1000);
  EXPECT_EQ(population_within(16e6, 4), 2000);
  EXPECT_EQ(population_within(2.9e6, 3), 0);
  EXPECT_EQ(population_within(100, 3), 0);
}

}  // namespace
}  // namespace isinglass::time_budget_test
