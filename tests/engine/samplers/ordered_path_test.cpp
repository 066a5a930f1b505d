// gwg, pafs and nb on ordered sites, whose score is s_{i,k} = k·s_i: the real step against
// enumeration.
#include <gtest/gtest.h>

#include "tests/engine/transitions.h"
#include "tests/reference/any_scale.h"
#include "tests/reference/no_backtrack.h"

namespace isinglass::ordered_path_test {
namespace {

using reference::G;
using reference::OrderedModel;
using reference::OrderedTarget;

struct Case {
  const char* sampler;
  int sites, categories;
  double strength, radius;
  int balancing;

  Matrix transitions(const Target& target) const {
    const auto g = static_cast<G>(balancing);
    const std::string name = sampler;
    if (name == "nb") return reference::nb_transitions(target, {radius, g});
    return reference::path_transitions(target, {name == "pafs", radius, g});
  }
};

// Adds the gradient of every value: k times the gradient in the value.
Target enumerate(const OrderedTarget& tiny) {
  Target target = tiny.enumerate();
  for (Matrix& of_state : target.gradient) {
    for (std::vector<double>& of_site : of_state) {
      const double slope = of_site.front();
      of_site.clear();
      for (int k = 0; k < tiny.categories; ++k) of_site.push_back(k * slope);
    }
  }
  return target;
}

class OrderedPathExactness : public testing::TestWithParam<Case> {};

TEST_P(OrderedPathExactness, RealStepMatchesEnumeration) {
  const Case& c = GetParam();
  const OrderedTarget tiny{c.sites, c.categories, c.strength};
  const Target target = enumerate(tiny);
  const std::vector<double> pi = target.probabilities();
  const Matrix exact = c.transitions(target);
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);

  OrderedModel model(tiny);
  ASSERT_EQ(model.space().kind, StateKind::kOrdered);
  const Frequencies real =
      real_step(model, target, c.sampler,
                {.radius = c.radius, .balancing = static_cast<Balancing>(c.balancing)});
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_GT(real.accepted, 0);
  EXPECT_LT(real.acceptance, 1);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* sampler : {"gwg", "pafs", "nb"}) {
    for (const double strength : {0.5, 3.0}) {
      for (int g = 0; g < 4; ++g) {
        all.push_back({sampler, 2, 4, strength, 1, g});
        all.push_back({sampler, 3, 3, strength, 2, g});
      }
    }
    all.push_back({sampler, 2, 5, 1.0, 1.5, 0});
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("{}_D{}_K{}_strength{}_R{}_g{}", c.sampler, c.sites, c.categories,
                     static_cast<int>(10 * c.strength), static_cast<int>(10 * c.radius),
                     c.balancing);
}

INSTANTIATE_TEST_SUITE_P(All, OrderedPathExactness, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace isinglass::ordered_path_test
