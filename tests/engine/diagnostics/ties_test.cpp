// Ties of values that differ by rounding: the partition does not depend on the order of the values,
// no group is wider than the rounding, and ranks follow.
#include "engine/diagnostics/ties.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/diagnostics/rank_normalised.h"

namespace isinglass::ties_test {
namespace {

torch::Tensor reals(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

at::Generator seeded(uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

TEST(Ties, AreGroupsNoWiderThanTheRounding) {
  const torch::Tensor merged = merge_ties(reals({5, 5.6, 6.2, 4.9, 9, 5}), {1});
  EXPECT_TRUE(merged.equal(reals({4.9, 4.9, 6.2, 4.9, 9, 4.9})));
  EXPECT_TRUE(merge_ties(merged, {1}).equal(merged));
  const torch::Tensor chain =
      torch::arange(0, 100, 0.3, torch::kFloat64);  // no gap is wider than 1
  EXPECT_LE((merge_ties(chain, {1}) - chain).abs().max().item<double>(), 1);
}

TEST(Ties, DoNotDependOnTheOrder) {
  auto generator = seeded(3);
  const torch::Tensor x = torch::randn({7, 60}, generator, torch::kFloat64);
  const torch::Tensor order = torch::randperm(420, generator, torch::kInt64);
  const torch::Tensor merged = merge_ties(x, {0.02}).flatten();
  EXPECT_GT((merged != x.flatten()).sum().item<int64_t>(), 100);
  EXPECT_TRUE(
      merge_ties(x.flatten().index_select(0, order), {0.02}).equal(merged.index_select(0, order)));
}

TEST(Ties, LeaveWhatIsNotFinite) {
  const torch::Tensor x = reals({NAN, 2, INFINITY, 1, -INFINITY, 1.5});
  EXPECT_EQ(tie_width(x, 0.25).least, 0.25 * 1.5);
  const torch::Tensor merged = merge_ties(x, {0.5});
  EXPECT_TRUE(std::isnan(merged[0].item<double>()));
  EXPECT_TRUE(merged.slice(0, 1).equal(reals({2, INFINITY, 1, -INFINITY, 1})));
  EXPECT_EQ(tie_width(reals({NAN}), 0.5).least, 0);
}

// Two energy levels that are equally frequent in every chain, with rounding errors that differ from
// chain to chain. Ranks of the rounding errors would tell chains apart.
TEST(Ties, RanksDoNotSeeRounding) {
  auto generator = seeded(4);
  const torch::Tensor levels =
      (torch::rand({500, 8}, generator, torch::kFloat64) < 0.3).to(torch::kFloat64);
  const torch::Tensor of_chain = torch::arange(8, torch::kFloat64) * 0x1p-50;
  for (const double offset : {0.0, -3.0, 1e6}) {
    const torch::Tensor exact = levels * 2 + offset;
    const torch::Tensor dusty = exact + of_chain * std::max(1.0, std::abs(offset));
    for (const auto statistic : {rank_rhat, bulk_ess, tail_ess}) {
      const double merged = statistic(dusty, kCarriedRounding), wanted = statistic(exact, 0);
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(merged) : std::abs(merged - wanted) < 1e-9);
    }
    EXPECT_GT(rank_rhat(dusty, 0), 1.1) << "the dust matters";
  }
}

// One value of another size, such as the energy of a far start, hides no difference between chains.
TEST(Ties, AnOutlierMakesNoTiesOfTheOthers) {
  auto generator = seeded(5);
  torch::Tensor apart = torch::randn({400, 8}, generator, torch::kFloat64);
  apart.slice(1, 4) += 20;
  torch::Tensor far = apart.clone();
  far[0][0] = 1e8;
  for (const double rounding : {kFloatRounding, kCarriedRounding}) {
    EXPECT_NEAR(rank_rhat(far, rounding), rank_rhat(apart, rounding), 0.01);
    EXPECT_NEAR(bulk_ess(far, rounding), bulk_ess(apart, rounding), 1);
  }
  EXPECT_GT(rank_rhat(far, kFloatRounding), 1.5);
}

// Differences far above the rounding of such numbers are no ties.
TEST(Ties, KeepEnergiesThatDiffer) {
  const torch::Tensor close = 1000 + torch::arange(400, torch::kFloat64).view({100, 4}) * 1e-8;
  EXPECT_TRUE(merge_ties(close, tie_width(close, kCarriedRounding)).equal(close));
  const torch::Tensor single = reals({300.0, 300.01, 299.5});
  EXPECT_TRUE(merge_ties(single, tie_width(single, kFloatRounding)).equal(single));
}

}  // namespace
}  // namespace isinglass::ties_test
