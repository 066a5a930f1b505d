// The path kernels against the reference: log q of the drawn path forward and backward, at sizes
// that do not fit blocks, with |d| up to hundreds, and with one site that dominates all others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops/path.h"
#include "tests/reference/enumeration.h"

namespace isinglass::first_order_path_test {
namespace {

using reference::Matrix;
using reference::State;

struct Case {
  int64_t sites;
  int categories;
  bool one_hot;
  PathRule rule;
  Balancing balancing;
  double radius;
  double gradient_scale;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("D{}_K{}{}_{}_g{}_R{}_scale{}", c.sites, c.categories,
                     c.one_hot ? "onehot" : "", c.rule == PathRule::kFrozen ? "gwg" : "pafs",
                     static_cast<int>(c.balancing), static_cast<int>(c.radius),
                     static_cast<int>(c.gradient_scale));
}

// The gradient of a one-hot state, or k times that of a binary or ordered one.
Matrix gradient_rows(const torch::Tensor& gradient, const Case& c) {
  Matrix rows;
  for (int64_t i = 0; i < gradient.size(0); ++i) {
    rows.emplace_back();
    for (int k = 0; k < c.categories; ++k) {
      rows.back().push_back(c.one_hot ? gradient[i][k].item<double>()
                                      : k * gradient[i].item<double>());
    }
  }
  return rows;
}

State state_of(const torch::Tensor& x) {
  State state;
  for (int64_t i = 0; i < x.size(0); ++i) state.push_back(x[i].item<int>());
  return state;
}

class PathKernel : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kChains = 6;

  void SetUp() override {
    const Case& c = GetParam();
    auto generator = at::make_generator<at::CPUGeneratorImpl>(11);
    x = torch::randint(0, c.categories, {kChains, c.sites}, generator, torch::kUInt8);
    std::vector<int64_t> shape = {kChains, c.sites};
    if (c.one_hot) shape.push_back(c.categories);
    at_x = torch::randn(shape, generator) * c.gradient_scale;
    at_y = torch::randn(shape, generator) * c.gradient_scale;
    max_length = static_cast<int64_t>(std::ceil(2 * c.radius - 1));
    paths = ops::PathBuffers::create(kChains, c.sites, max_length, torch::kCPU);
    y = torch::empty_like(x);
    forward = torch::empty({kChains}, torch::kFloat64);
    backward = torch::empty({kChains}, torch::kFloat64);
    radius = torch::full({}, c.radius, torch::kFloat64);
  }

  void draw(int64_t step) {
    const Case& c = GetParam();
    ops::draw_path(x, at_x, torch::tensor({int64_t{5}, step}), torch::arange(kChains), radius,
                   c.categories, c.rule, c.balancing, y, paths, forward);
    const torch::Tensor drawn = y.clone();
    ops::score_path(y, at_y, c.categories, c.rule, c.balancing, paths, backward);
    ASSERT_TRUE(torch::equal(drawn, y)) << "scoring must leave y as it was";
  }

  std::vector<reference::detail::Move> moves(int64_t chain) const {
    std::vector<reference::detail::Move> result;
    for (int64_t l = 0; l < paths.length[chain].item<int64_t>(); ++l) {
      result.push_back({paths.site[chain][l].item<int>(), paths.from[chain][l].item<int>(),
                        paths.to[chain][l].item<int>()});
    }
    return result;
  }

  torch::Tensor x, y, at_x, at_y, forward, backward, radius;
  ops::PathBuffers paths;
  int64_t max_length;
};

TEST_P(PathKernel, ScoresEqualTheReference) {
  const Case& c = GetParam();
  const reference::Rule rule{c.rule == PathRule::kLinearised, c.radius,
                             static_cast<reference::G>(c.balancing)};
  for (int64_t step = 0; step < 5; ++step) {
    draw(step);
    for (int64_t chain = 0; chain < kChains; ++chain) {
      const auto path = moves(chain);
      ASSERT_GE(path.size(), 1u);
      ASSERT_LE(static_cast<int64_t>(path.size()), max_length);
      State walked = state_of(x[chain]);
      for (const auto& move : path) {
        if (c.rule == PathRule::kLinearised || move.from != move.to) {
          EXPECT_EQ(walked[move.site], move.from);
        }
        if (move.from != move.to) walked[move.site] = move.to;
      }
      EXPECT_EQ(walked, state_of(y[chain]));
      const double q = reference::path_probability(gradient_rows(at_x[chain], c), rule,
                                                   state_of(x[chain]), path);
      const double r = reference::reverse_probability(gradient_rows(at_y[chain], c), rule,
                                                      state_of(y[chain]), path);
      EXPECT_NEAR(forward[chain].item<double>(), std::log(q), 1e-9 * std::max(1.0, -std::log(q)));
      EXPECT_TRUE(std::isfinite(backward[chain].item<double>()));
      if (r > 1e-300) {  // plain products of the reference underflow before ours
        EXPECT_NEAR(backward[chain].item<double>(), std::log(r),
                    1e-9 * std::max(1.0, -std::log(r)));
      }
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const PathRule rule : {PathRule::kFrozen, PathRule::kLinearised}) {
    for (int g = 0; g < 4; ++g) {
      const auto balancing = static_cast<Balancing>(g);
      all.push_back({1, 2, false, rule, balancing, 2, 1});
      all.push_back({33, 2, false, rule, balancing, 5, 2});
      all.push_back({784, 2, false, rule, balancing, 5, 20});
      all.push_back({31, 2, true, rule, balancing, 3, 1});
      all.push_back({45, 5, true, rule, balancing, 5, 20});
      all.push_back({45, 5, false, rule, balancing, 5, 6});
    }
    all.push_back({100, 256, true, rule, Balancing::kSqrt, 4, 1});
    all.push_back({100, 256, false, rule, Balancing::kSqrt, 4, 0.1});
    all.push_back({1000, 2, false, rule, Balancing::kSqrt, 20, 1});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, PathKernel, testing::ValuesIn(cases()), name_of);

// One site with weight e^40 times all others': after it has moved, the rest must still be drawn
// with their own probabilities. A sum updated by subtraction would hold noise.
TEST(PathDominantSite, TheRestKeepsItsProbabilities) {
  const int64_t chains = 40000, sites = 70;
  torch::Tensor x = torch::zeros({chains, sites}, torch::kUInt8);
  torch::Tensor gradient = torch::zeros({chains, sites});
  gradient.select(1, 33).fill_(-80);                 // d = 80 at first, −80 once it has moved
  gradient.select(1, 5).fill_(-2 * std::log(10.0));  // weight 10, all others 1
  auto paths = ops::PathBuffers::create(chains, sites, 2, torch::kCPU);
  torch::Tensor y = torch::empty_like(x), log_q = torch::empty({chains}, torch::kFloat64);
  ops::draw_path(x, gradient, torch::tensor({int64_t{8}, int64_t{0}}), torch::arange(chains),
                 torch::full({}, 1.5, torch::kFloat64), 2, PathRule::kLinearised, Balancing::kSqrt,
                 y, paths, log_q);
  const torch::Tensor two = paths.length == 2;
  EXPECT_TRUE((paths.site.select(1, 0) == 33).all().item<bool>());
  const torch::Tensor second = paths.site.select(1, 1).masked_select(two);
  const double n = second.size(0), p = 10.0 / 78.0;  // 68 others of weight 1
  const double share = (second == 5).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / n));
  EXPECT_EQ((second == 33).sum().item<int64_t>(), 0);
}

// E L = R for every real R, and L never exceeds ⌈2R − 1⌉.
TEST(PathLength, MeanIsR) {
  const int64_t chains = 100000;
  for (const double r : {1.0, 1.25, 2.0, 3.4}) {
    const auto most = static_cast<int64_t>(std::ceil(2 * r - 1));
    auto paths = ops::PathBuffers::create(chains, 1, most, torch::kCPU);
    torch::Tensor x = torch::zeros({chains, 1}, torch::kUInt8), y = torch::empty_like(x);
    torch::Tensor log_q = torch::empty({chains}, torch::kFloat64);
    ops::draw_path(x, torch::zeros({chains, 1}), torch::tensor({int64_t{8}, int64_t{0}}),
                   torch::arange(chains), torch::full({}, r, torch::kFloat64), 2,
                   PathRule::kLinearised, Balancing::kSqrt, y, paths, log_q);
    const torch::Tensor length = paths.length.to(torch::kFloat64);
    const double se = length.std().item<double>() / std::sqrt(static_cast<double>(chains));
    EXPECT_NEAR(length.mean().item<double>(), r, 5 * se + 1e-12);
    EXPECT_LE(length.max().item<double>(), static_cast<double>(most));
    EXPECT_GE(length.min().item<double>(), 1);
  }
}

}  // namespace
}  // namespace isinglass::first_order_path_test
