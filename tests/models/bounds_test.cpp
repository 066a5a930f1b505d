// Reflection at bounds, against a plain loop that turns around at every wall.
#include "models/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "models/combined/bounded.h"
#include "models/combined/product.h"
#include "models/density/gaussian.h"
#include "models/lattice/bernoulli.h"
#include "tests/support/scratch.h"

namespace isinglass::bounds_test {
namespace {

// A particle that has moved from the box to `end` on the line, seen in the box.
struct Particle {
  double x, p;
};

Particle turned_around(Particle at, const Bounds& bounds) {
  while (at.x < bounds.low || at.x > bounds.high) {
    at.x = 2 * (at.x < bounds.low ? bounds.low : bounds.high) - at.x;
    at.p = -at.p;
  }
  return at;
}

TEST(Bounds, ReflectAsOftenAsAWallIsMet) {
  torch::manual_seed(3);
  for (const Bounds& bounds : {Bounds{0, 1}, Bounds{-1, 1}, Bounds{2.5, 2.75}}) {
    const double width = bounds.high - bounds.low;
    const torch::Tensor start = bounds.low + width * (8 * torch::rand({50, 7}) - 4);
    const torch::Tensor momentum = torch::randn({50, 7}, torch::kFloat64);
    torch::Tensor y = start.clone(), p = momentum.clone();
    reflect(bounds, y, p);
    for (int64_t b = 0; b < y.size(0); ++b) {
      for (int64_t i = 0; i < y.size(1); ++i) {
        const Particle expected =
            turned_around({start[b][i].item<double>(), momentum[b][i].item<double>()}, bounds);
        EXPECT_NEAR(y[b][i].item<double>(), expected.x, 2e-6);
        EXPECT_EQ(p[b][i].item<double>(), expected.p);
      }
    }
    EXPECT_NO_THROW(require_within(bounds, y, "the states"));
  }
}

TEST(Bounds, StatesInsideKeepTheirBits) {
  torch::manual_seed(4);
  const Bounds bounds{-0.3, 0.7};
  const torch::Tensor x = -0.3 + torch::rand({100, 3}) * 0.999;
  torch::Tensor y = x.clone(), p = torch::ones({100, 3}, torch::kFloat64);
  reflect(bounds, y, p);
  EXPECT_TRUE(torch::equal(y, x));
  EXPECT_TRUE(torch::equal(p, torch::ones_like(p)));
  torch::Tensor lost = torch::full({1, 1}, NAN), none;
  reflect(bounds, lost, none);
  EXPECT_TRUE(std::isnan(lost.item<float>()));  // so that the test of acceptance rejects it
}

// 10^5 draws: the distance of the distribution functions is below 1.95/√n with probability 0.999.
TEST(Bounds, NormalNumbersBecomeUniformOnes) {
  torch::manual_seed(5);
  constexpr int64_t kDraws = 100000;
  torch::Tensor z = torch::randn({kDraws, 1});
  const Bounds bounds{-2, 3};
  make_uniform(bounds, z);
  const torch::Tensor sorted = std::get<0>(((z.flatten() + 2) / 5).to(torch::kFloat64).sort());
  const torch::Tensor expected = (torch::arange(kDraws, torch::kFloat64) + 0.5) / kDraws;
  EXPECT_LT((sorted - expected).abs().max().item<double>(), 1.95 / std::sqrt(kDraws));
}

TEST(Bounds, BelongToModelsAndTheirCombinations) {
  const auto normal = std::make_shared<GaussianModel>(torch::zeros({2}), torch::ones({2}));
  EXPECT_FALSE(bounds_of(*normal));
  const auto bounded = std::make_shared<BoundedModel>(normal, Bounds{0, 1});
  EXPECT_EQ(bounds_of(*bounded), (Bounds{0, 1}));
  EXPECT_EQ(bounds_of(ProductModel({bounded, bounded})), (Bounds{0, 1}));
  EXPECT_EQ(bounds_of(BoundedModel(bounded, Bounds{0, 1})), (Bounds{0, 1}));
  EXPECT_ERROR(ProductModel({bounded, normal}), "do not have the same bounds");
  EXPECT_ERROR(BoundedModel(bounded, Bounds{0, 2}), "bounds is 0,2, but the states");
  EXPECT_ERROR(BoundedModel(normal, Bounds{1, 1}), "the lower one first");
  EXPECT_ERROR(BoundedModel(std::make_shared<BernoulliModel>(torch::zeros({2})), Bounds{0, 1}),
               "the states of model bernoulli are discrete");
  EXPECT_ERROR(require_within({0, 1}, torch::full({1, 2}, 1.5), "the states"),
               "the states hold the value 1.5, which is outside of the bounds 0 and 1");
}

}  // namespace
}  // namespace isinglass::bounds_test
