// Paths without replacement against the reference: sites are distinct, and log q is right forward
// and backward, at sizes that do not fit blocks, on paths through all sites, with |d| up to 300.
#include "tests/reference/no_backtrack.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/ops/path.h"

namespace isinglass::no_backtrack_test {
namespace {

using reference::Matrix;
using reference::SiteValue;
using reference::State;

struct Case {
  int64_t sites;
  int categories;
  bool one_hot;
  Balancing balancing;
  int64_t length;  // at most
  double scale;    // scale of the gradient
  int dominant;    // a site with |d| = 300 at x, none if negative
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("D{}_K{}{}_g{}_L{}_scale{}{}", c.sites, c.categories,
                     c.one_hot ? "onehot" : "", static_cast<int>(c.balancing), c.length,
                     static_cast<int>(c.scale), c.dominant >= 0 ? "_dominant" : "");
}

class NoBacktrackKernel : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kChains = 6;

  // Normal numbers; the dominant site leaves its value by d = 300.
  torch::Tensor make_gradient(const torch::Tensor& at, at::Generator generator) const {
    const Case& c = GetParam();
    torch::Tensor gradient = torch::randn({kChains, c.sites, c.categories}, generator) * c.scale;
    if (c.dominant >= 0) {
      const torch::Tensor value = at.select(1, c.dominant).to(torch::kInt64).unsqueeze(1);
      gradient.select(1, c.dominant).zero_().scatter_(1, value, 300.0);
    }
    if (c.one_hot) return gradient;
    return (gradient.select(2, 1) - gradient.select(2, 0)).contiguous();
  }

  // The gradient of a one-hot state, or k times that of a binary or ordered one.
  Matrix rows(const torch::Tensor& gradient) const {
    Matrix result;
    for (int64_t i = 0; i < gradient.size(0); ++i) {
      result.emplace_back();
      for (int k = 0; k < GetParam().categories; ++k) {
        result.back().push_back(GetParam().one_hot ? gradient[i][k].item<double>()
                                                   : k * gradient[i].item<double>());
      }
    }
    return result;
  }
};

State state_of(const torch::Tensor& x) {
  State state;
  for (int64_t i = 0; i < x.size(0); ++i) state.push_back(x[i].item<int>());
  return state;
}

TEST_P(NoBacktrackKernel, ScoresEqualTheReference) {
  const Case& c = GetParam();
  const auto g = static_cast<reference::G>(c.balancing);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(13);
  const torch::Tensor x =
      torch::randint(0, c.categories, {kChains, c.sites}, generator, torch::kUInt8);
  const torch::Tensor at_x = make_gradient(x, generator);
  auto paths = ops::PathBuffers::create(kChains, c.sites, c.length, torch::kCPU);
  torch::Tensor y = torch::empty_like(x);
  torch::Tensor forward = torch::empty({kChains}, torch::kFloat64), backward = forward.clone();
  const double radius = (static_cast<double>(c.length) + 1) / 2;
  for (int64_t step = 0; step < 3; ++step) {
    ops::draw_path(x, at_x, torch::tensor({int64_t{5}, step}), torch::arange(kChains),
                   torch::full({}, radius, torch::kFloat64), c.categories, PathRule::kNoBacktrack,
                   c.balancing, y, paths, forward);
    const torch::Tensor drawn = y.clone(), at_y = make_gradient(y, generator);
    ops::score_path(y, at_y, c.categories, PathRule::kNoBacktrack, c.balancing, paths, backward);
    ASSERT_TRUE(torch::equal(drawn, y)) << "scoring must leave y as it was";
    for (int64_t chain = 0; chain < kChains; ++chain) {
      std::vector<SiteValue> pairs;
      State walked = state_of(x[chain]);
      std::set<int> seen;
      for (int64_t l = 0; l < paths.length[chain].item<int64_t>(); ++l) {
        pairs.push_back({paths.site[chain][l].item<int>(), paths.to[chain][l].item<int>()});
        EXPECT_TRUE(seen.insert(pairs.back().site).second) << "a site was drawn twice";
        EXPECT_EQ(paths.from[chain][l].item<int>(), walked[pairs.back().site]);
        EXPECT_NE(pairs.back().value, walked[pairs.back().site]);
        walked[pairs.back().site] = pairs.back().value;
      }
      const State from = state_of(x[chain]), to = state_of(y[chain]);
      EXPECT_EQ(walked, to);
      const double q = reference::log_without_replacement(rows(at_x[chain]), g, from, pairs);
      const double r = reference::log_without_replacement(rows(at_y[chain]), g, to,
                                                          reference::reverse_pairs(from, pairs));
      EXPECT_NEAR(forward[chain].item<double>(), q, 1e-9 * std::max(1.0, -q));
      EXPECT_NEAR(backward[chain].item<double>(), r, 1e-9 * std::max(1.0, -r));
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int g = 0; g < 4; ++g) {
    const auto balancing = static_cast<Balancing>(g);
    all.push_back({1, 2, false, balancing, 1, 1, -1});
    all.push_back({33, 2, false, balancing, 33, 2, -1});  // a path through all sites
    all.push_back({100, 2, false, balancing, 9, 80, -1});
    all.push_back({70, 2, false, balancing, 9, 1, 33});
    all.push_back({70, 2, false, balancing, 70, 1, 33});
    all.push_back({45, 5, true, balancing, 45, 20, -1});
    all.push_back({45, 5, true, balancing, 9, 1, 44});
    all.push_back({45, 5, false, balancing, 45, 4, -1});
  }
  all.push_back({20, 256, true, Balancing::kSqrt, 5, 1, -1});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, NoBacktrackKernel, testing::ValuesIn(cases()), name_of);

// A site of weight e^150 leaves first; the others, of weights 1 and 10, keep their probabilities. A
// sum updated by subtraction would lose them.
TEST(NoBacktrackDominantSite, TheRestKeepsItsProbabilities) {
  const int64_t chains = 40000, sites = 70;
  const torch::Tensor x = torch::zeros({chains, sites}, torch::kUInt8);
  torch::Tensor gradient = torch::zeros({chains, sites});
  gradient.select(1, 33).fill_(-300);
  gradient.select(1, 40).fill_(-2 * std::log(10.0));  // in the same block of 32
  auto paths = ops::PathBuffers::create(chains, sites, 2, torch::kCPU);
  torch::Tensor y = torch::empty_like(x), log_q = torch::empty({chains}, torch::kFloat64);
  ops::draw_path(x, gradient, torch::tensor({int64_t{8}, int64_t{0}}), torch::arange(chains),
                 torch::full({}, 1.5, torch::kFloat64), 2, PathRule::kNoBacktrack, Balancing::kSqrt,
                 y, paths, log_q);
  EXPECT_TRUE((paths.site.select(1, 0) == 33).all().item<bool>());
  const torch::Tensor second = paths.site.select(1, 1).masked_select(paths.length == 2);
  const double n = second.size(0), p = 10.0 / 78.0;  // 68 others of weight 1
  const double share = (second == 40).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / n));
  EXPECT_EQ((second == 33).sum().item<int64_t>(), 0);
}

}  // namespace
}  // namespace isinglass::no_backtrack_test
