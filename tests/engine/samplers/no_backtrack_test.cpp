// nb's real step against enumeration, and broken variants, which the enumeration detects.
#include "tests/reference/no_backtrack.h"

#include <gtest/gtest.h>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/engine/transitions.h"

namespace isinglass::no_backtrack_test {
namespace {

using reference::G;
using reference::NbFault;
using reference::NbRule;

struct NbCase {
  int sites, categories;
  double strength, radius;
  int balancing;
};

class NoBacktrackExactness : public testing::TestWithParam<NbCase> {};

TEST_P(NoBacktrackExactness, RealStepMatchesEnumeration) {
  const NbCase& c = GetParam();
  const TinyTarget tiny{c.sites, c.categories, c.strength};
  const Target target = tiny.enumerate();
  const std::vector<double> pi = target.probabilities();
  const Matrix exact = reference::nb_transitions(target, {c.radius, static_cast<G>(c.balancing)});
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);
  EXPECT_EQ(reference::communicating_classes(exact), 1);

  const Frequencies real =
      real_step(tiny, "nb", {.radius = c.radius, .balancing = static_cast<Balancing>(c.balancing)});
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_GT(real.accepted, 0);
  EXPECT_LT(real.acceptance, 1);
}

std::vector<NbCase> nb_cases() {
  std::vector<NbCase> cases;
  for (const double strength : {0.5, 3.0}) {
    for (int g = 0; g < 4; ++g) {
      for (const double radius : {1.0, 2.0}) {
        for (const int categories : {2, 3}) {
          cases.push_back({3, categories, strength, radius, g});
        }
      }
    }
    cases.push_back({3, 3, strength, 1.7, 0});  // real-valued R
    cases.push_back({4, 2, strength, 2.5, 1});  // 2R − 1 = D
  }
  return cases;
}

std::string nb_case_name(const testing::TestParamInfo<NbCase>& info) {
  const NbCase& c = info.param;
  return fmt::format("D{}_K{}_strength{}_R{}_g{}", c.sites, c.categories,
                     static_cast<int>(10 * c.strength), static_cast<int>(100 * c.radius),
                     c.balancing);
}

INSTANTIATE_TEST_SUITE_P(All, NoBacktrackExactness, testing::ValuesIn(nb_cases()), nb_case_name);

TEST(NoBacktrackBrokenVariants, AreDetected) {
  for (const int categories : {2, 3}) {
    const TinyTarget tiny{3, categories, 1.5};
    const Target target = tiny.enumerate();
    const Matrix real = real_step(tiny, "nb", {.radius = 2}).share;
    for (const NbFault fault : {NbFault::kReplacement, NbFault::kReverseAtX, NbFault::kNoReverse}) {
      SCOPED_TRACE(fmt::format("K {} fault {}", categories, static_cast<int>(fault)));
      const Matrix broken = reference::nb_transitions(target, {2, G::kSqrt, fault});
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
      EXPECT_GT(worst_deviation(real, broken), 7);
    }
  }
}

// A reverse that draws the sites in forward order is an involution on paths as well, so it leaves π
// invariant; but it is not the kernel of the specification, and the frequencies tell them apart.
TEST(NoBacktrackBrokenVariants, ForwardOrderIsAnotherKernel) {
  const TinyTarget tiny{3, 3, 1.5};
  const Target target = tiny.enumerate();
  const Matrix other = reference::nb_transitions(target, {2, G::kSqrt, NbFault::kForwardOrder});
  EXPECT_LT(reference::stationarity_error(other, target.probabilities()), 1e-10);
  EXPECT_GT(worst_deviation(real_step(tiny, "nb", {.radius = 2}).share, other), 7);
}

TEST(NoBacktrackRadius, PathsAreNoLongerThanTheSites) {
  TinyModel model(TinyTarget{4, 2, 1.0});
  EXPECT_NO_THROW(make_sampler("nb", {.radius = 2.5}, model));
  EXPECT_THROW(make_sampler("nb", {.radius = 2.51}, model), Error);
  EXPECT_EQ(make_sampler("nb", {}, model)->scales().front().initial, 2.5);  // the default, cut
  const auto adapting = make_sampler("nb", {.radius = 1.5, .adapt = true}, model);
  EXPECT_EQ(adapting->scales().front().most, 2.5);
}

// R reaches its upper end after adaptation on a flat target, where every proposal is accepted.
TEST(NoBacktrackRadius, AdaptedRKeepsWithinTheSites) {
  TinyModel model(TinyTarget{4, 2, 0.0});
  const auto sampler = make_sampler("nb", {.radius = 1, .adapt = true}, model);
  ChainState state = sampler->init(model, torch::zeros({16, 4}, torch::kUInt8), torch::arange(16));
  StepParams params = sampler->params(1, torch::kCPU);
  for (int t = 0; t < 40; ++t) sampler->warmup()->burn_in_step(model, state, params, t, 40);
  EXPECT_EQ(params.scale[0].item<double>(), 2.5);
  int64_t most = 0;
  for (int t = 0; t < 40; ++t) {
    sampler->step(model, state, params);
    most = std::max(most, state.statistics.hops.max().item<int64_t>());
  }
  EXPECT_EQ(most, 4);
}

}  // namespace
}  // namespace isinglass::no_backtrack_test
