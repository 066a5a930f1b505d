// Suites of known outcomes, for the test of the harness: none of them is part of the tests.
#include <gtest/gtest.h>

namespace {

TEST(Passes, Once) {}
TEST(Passes, Twice) {}

TEST(Fails, Once) {
  FAIL() << "planted";
}

TEST(FailsBesideASkip, Skips) {
  GTEST_SKIP() << "planted";
}
TEST(FailsBesideASkip, Fails) {
  FAIL() << "planted";
}
TEST(FailsBesideASkip, Passes) {}

TEST(SkipsBesideAPass, Passes) {}
TEST(SkipsBesideAPass, Skips) {
  GTEST_SKIP() << "planted";
}

// A suite that a filter or an empty list of instances has emptied.
class RunsNothing : public testing::TestWithParam<int> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RunsNothing);
TEST_P(RunsNothing, AtAll) {}

TEST(DiesBesideASkip, Skips) {
  GTEST_SKIP() << "planted";
}
TEST(DiesBesideASkip, Dies) {
  std::abort();
}

}  // namespace
