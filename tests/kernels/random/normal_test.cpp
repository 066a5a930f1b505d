// Normal numbers of many sites at once against those of single calls.
#include "kernels/random/normal.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/random/fast/normal_rows_cpu.h"
#include "tests/kernels/instruction_sets.h"

namespace isinglass::normal_test {
namespace {

constexpr PhiloxStream kDraws{99, 3, 4};

TEST(NormalCalls, CoverEverySiteOnce) {
  for (const int64_t sites : {1, 2, 8, 9, 16, 17, 300}) {
    std::vector<int> times(sites);
    for (int64_t n = 0; n < NormalCall::count(sites); ++n) {
      each_normal_of(kDraws, Purpose::kNoise, {n}, sites, [&](int64_t i, double) { ++times[i]; });
    }
    EXPECT_EQ(times, std::vector<int>(sites, 1)) << sites;
  }
}

TEST(NormalCalls, RowsAreThoseOfSingleCalls) {
  for (const int64_t sites : {1, 2, 3, 16, 17, 255, 256, 257, 1000}) {
    std::vector<double> expected(sites);
    for (int64_t n = 0; n < NormalCall::count(sites); ++n) {
      each_normal_of(kDraws, Purpose::kNoise, {n}, sites,
                     [&](int64_t i, double number) { expected[i] = number; });
    }
    EXPECT_EQ(std::set<double>(expected.begin(), expected.end()).size(), expected.size());
    in_every_instruction_set([&] {
      std::vector<double> found(sites);
      cpu::each_normal(kDraws, Purpose::kNoise, sites,
                       [&](int64_t i, double number) { found[i] = number; });
      EXPECT_EQ(found, expected) << sites;
    });
  }
}

// √(−2 log 2⁻⁵³): no number is larger.
TEST(NormalCalls, AreFiniteAtTheEndsOfTheirUniforms) {
  const NormalPair least = box_muller(0, 0.3), most = box_muller(1 - 0x1p-53, 0);
  EXPECT_EQ(least.number[0], 0);
  EXPECT_EQ(least.number[1], 0);
  EXPECT_NEAR(most.number[0], 8.5717, 1e-4);
  EXPECT_EQ(most.number[1], 0);
}

}  // namespace
}  // namespace isinglass::normal_test
