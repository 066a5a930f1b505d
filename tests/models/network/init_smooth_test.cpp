// The initial parameters of a network for grey levels: near levels have similar features, whose
// size depth preserves, and the network is so close to linear in one pixel that its gradient
// predicts the effect of a new value.
#include <gtest/gtest.h>

#include "models/registry.h"

namespace isinglass::init_smooth_test {
namespace {

constexpr int64_t kHeight = 12, kWidth = 10, kSites = kHeight * kWidth, kLevels = 256;

std::shared_ptr<EnergyModel> network(int64_t channels, uint64_t seed,
                                     const torch::Tensor& base = {}) {
  return new_model("resnet",
                   {.image_height = kHeight,
                    .image_width = kWidth,
                    .channels = channels,
                    .categories = kLevels,
                    .proj = 8,
                    .base_mean = base},
                   seed);
}

TEST(InitSmooth, LevelsBesideEachOtherAreNear) {
  const torch::Tensor rows = network(8, 1)->named_parameters()["proj.weight"].detach().flatten(1);
  EXPECT_NEAR(rows.square().mean().sqrt().item<double>(), 0.2, 1e-6);
  const torch::Tensor steps = rows.diff(1, 1).square().sum(0).sqrt();
  const torch::Tensor ends = (rows.select(1, 0) - rows.select(1, kLevels - 1)).norm();
  EXPECT_LT(steps.max().item<double>(), 0.05 * ends.item<double>());
  EXPECT_GT(steps.min().item<double>(), 0);
}

// The effect of a new value at one site as the gradient predicts it: its standard deviation, and
// the share of its variance that is prediction error.
struct Foretold {
  double size, error;
};

Foretold foretold_by(EnergyModel& model) {
  torch::manual_seed(5);
  const int64_t chains = 200;
  const torch::Tensor x = torch::randint(kLevels, {chains, kSites}, torch::kUInt8);
  const torch::Tensor site = torch::randint(kSites, {chains, 1});
  const torch::Tensor value = torch::randint(kLevels, {chains, 1}, torch::kUInt8);
  Evaluation at_x, at_y;
  model.evaluate(x, at_x);
  model.evaluate(x.scatter(1, site, value), at_y);
  const torch::Tensor row =  // gradient of the site, [chains, K]
      at_x.gradient.gather(1, site.unsqueeze(2).expand({-1, 1, kLevels})).squeeze(1);
  const auto entry = [&](const torch::Tensor& v) {
    return row.gather(1, v.to(torch::kInt64)).squeeze(1);
  };
  const torch::Tensor foretold = entry(value) - entry(x.gather(1, site));
  const torch::Tensor error = at_y.energy - at_x.energy - foretold;
  return {foretold.std().item<double>(),
          (error.square().mean() / foretold.square().mean()).item<double>()};
}

TEST(InitSmooth, GradientsForetellASiteOfAnyWidth) {
  for (const int64_t channels : {8, 32}) {
    for (const uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(channels);
      const std::shared_ptr<EnergyModel> model = network(channels, seed);
      const Foretold small = foretold_by(*model);
      EXPECT_GT(small.size, 1e-3);  // by torch.nn's rules below 1e-6
      EXPECT_LT(small.error, 0.1);
      torch::NoGradGuard no_grad;
      model->named_parameters()["proj.weight"].mul_(10);
      EXPECT_GT(foretold_by(*model).error, 0.3);  // and not by any embedding
    }
  }
}

TEST(InitSmooth, EnergiesOfTheBaseAreNearZero) {
  torch::manual_seed(7);
  const torch::Tensor base = torch::softmax(3 * torch::randn({kSites, kLevels}), 1);
  const torch::Tensor x =
      base.multinomial(200, /*replacement=*/true).t().to(torch::kUInt8).contiguous();
  for (const int64_t channels : {8, 32}) {
    Evaluation at_x;
    network(channels, 1, base)->evaluate(x, at_x);
    const double entropy = at::special_entr(base).sum().item<double>();
    EXPECT_LT(std::abs(at_x.energy.mean().item<double>()), 0.02 * entropy);
  }
}

}  // namespace
}  // namespace isinglass::init_smooth_test
