// Targets whose gradient misleads, against their densities by plain loops: the energy is that of
// the right modes, the gradient that of all modes. Also tests which states count as right.
#include "models/combined/wrong_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/instances/instances.h"
#include "tests/support/scratch.h"

namespace isinglass::wrong_gradient_test {
namespace {

using Points = std::vector<std::pair<double, double>>;

// −log mean_c N(x; c, v I), and its gradient, at one point of the plane.
struct Reference {
  double energy, dx, dy;
};
Reference mixture(const Points& centers, double v, double x, double y) {
  double sum = 0, dx = 0, dy = 0;
  for (const auto& [cx, cy] : centers) {
    const double square = (x - cx) * (x - cx) + (y - cy) * (y - cy);
    const double p = std::exp(-square / (2 * v)) / (2 * M_PI * v * double(centers.size()));
    sum += p, dx += p * (x - cx) / v, dy += p * (y - cy) / v;
  }
  return {-std::log(sum), dx / sum, dy / sum};
}

TEST(WrongGradient, MixtureHasTheEnergyOfTwoModesAndTheGradientOfFour) {
  const auto model = wrong_gradient_mixture();
  const Points all = {{-2, 0}, {2, 0}, {0, 2}, {0, -2}}, right = {{-2, 0}, {2, 0}};
  for (const auto& [x, y] : Points{{0.3, -1.1}, {-2.2, 0.4}, {0.1, 2.5}}) {
    const EnergyGrad at = model->energy_and_grad(torch::tensor({{float(x), float(y)}}));
    EXPECT_NEAR(at.energy.item<double>(), mixture(right, 1, x, y).energy, 1e-5);
    EXPECT_NEAR(at.gradient[0][0].item<double>(), mixture(all, 1, x, y).dx, 1e-5);
    EXPECT_NEAR(at.gradient[0][1].item<double>(), mixture(all, 1, x, y).dy, 1e-5);
  }
}

TEST(WrongGradient, RingsRefuseEveryOtherMode) {
  const double variance = 0.02, radius = 0.3, refusal = 7;
  const auto model = wrong_gradient_rings(variance, radius, refusal);
  Points all;
  for (int i = 0; i < 8; ++i) all.emplace_back(std::cos(M_PI * i / 4), std::sin(M_PI * i / 4));
  const double s = std::sqrt(0.5);
  const std::vector<std::pair<Points::value_type, bool>> points = {
      {{1.1, 0.1}, true}, {{s, s}, false}, {{-0.75, 0.0}, true}, {{-0.65, 0.0}, false}};
  for (const auto& [point, right] : points) {
    const torch::Tensor x = torch::tensor({{float(point.first), float(point.second)}});
    const Reference expected = mixture(all, variance, point.first, point.second);
    const EnergyGrad at = model->energy_and_grad(x);
    EXPECT_NEAR(at.energy.item<double>(), expected.energy + (right ? 0 : refusal), 1e-4);
    EXPECT_NEAR(at.gradient[0][0].item<double>(), expected.dx, 1e-3);
    EXPECT_EQ(model->modes().at_right(x).item<double>(), right);
  }
}

TEST(WrongGradient, RightIsTheNearestModeWithinTheRadius) {
  const Modes modes{torch::tensor({0., 0., 4., 0.}, torch::kFloat64).view({2, 2}),
                    torch::tensor({true, false}), 1.5};
  const torch::Tensor x = torch::tensor({{0.5f, 0.5f}, {1.6f, 0.f}, {3.f, 0.f}});
  EXPECT_TRUE(torch::equal(modes.at_right(x), torch::tensor({1., 0., 0.}, torch::kFloat64)));
}

// Chains of samplers without a test diverge at large steps; at 1e20 all modes are equally far.
TEST(WrongGradient, StatesFarFromAllModesOfTheMixtureAreNotRight) {
  const torch::Tensor x =
      torch::tensor({{-5.9f, 0.f}, {6.1f, 0.f}, {1e20f, 0.f}, {-1e20f, 1e20f}, {0.f, 1.5f}});
  EXPECT_TRUE(torch::equal(wrong_gradient_mixture()->modes().at_right(x),
                           torch::tensor({1., 0., 0., 0., 0.}, torch::kFloat64)));
}

TEST(WrongGradient, FlatHasNearlyNoGradient) {
  const auto model = wrong_gradient_flat(1e-3);
  const EnergyGrad at = model->energy_and_grad(torch::tensor({{3.f, -1.f}}));
  EXPECT_NEAR(at.energy.item<double>(), 4, 1e-6);
  EXPECT_NEAR(at.gradient[0][0].item<double>(), 2e-3, 1e-8);
  EXPECT_NEAR(at.gradient[0][1].item<double>(), -2e-3, 1e-8);
}

// Four images of three pixels.
ImageSource images() {
  return {[] {
            return torch::tensor({0.f, 0.f, 1.f, 0.f, 1.f, 0.f, 1.f, 0.f, 0.f, 1.f, 1.f, 0.f})
                .view({4, 3});
          },
          [] { return torch::tensor({7, 1, 7, 1}, torch::kInt64); }};
}

TEST(WrongGradient, ImagesAreModes) {
  const auto model = make_instance("image-modes:right=7,wrong=1,count=2,radius=0.5", images());
  const auto& wrong = dynamic_cast<const WrongGradientModel&>(*model);
  EXPECT_TRUE(torch::equal(wrong.modes().at_right(images().pixels()),
                           torch::tensor({1., 0., 1., 0.}, torch::kFloat64)));
  EXPECT_TRUE(torch::equal(wrong.start().mean, torch::tensor({0.5f, 1.f, 0.f})));
  const torch::Tensor energy = model->energy(images().pixels());
  EXPECT_NEAR((energy[1] - energy[0]).item<double>(), 20, 1e-6);
  EXPECT_ERROR(make_instance("image-modes:right=7,wrong=1,count=3", images()),
               "class 7 has 2 images");
  EXPECT_ERROR(make_instance("image-modes"), "dataset NAME is needed");
}

TEST(WrongGradient, ImageGaussiansHaveVariancesOfTheirSeed) {
  const auto at = [](const std::string& text, const torch::Tensor& x) {
    return make_instance(text, images())->energy_and_grad(x);
  };
  const torch::Tensor mean = images().pixels().slice(0, 1, 2);
  EXPECT_EQ(at("image-gaussian:index=1", mean).energy.item<double>(), 0);
  const torch::Tensor precision = at("image-gaussian:index=1", mean + 1).gradient;
  EXPECT_GT(precision.min().item<double>(), 1 / 1.25 - 1e-6);
  EXPECT_LT(precision.max().item<double>(), 4 + 1e-6);
  EXPECT_FALSE(precision.equal(at("image-gaussian:index=1,seed=1", mean + 1).gradient));
  EXPECT_ERROR(make_instance("image-gaussian:index=4", images()), "the data set has 4 images");
}

}  // namespace
}  // namespace isinglass::wrong_gradient_test
