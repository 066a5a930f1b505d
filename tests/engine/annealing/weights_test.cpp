// Log-weights from one end, and from both ends with Gaussian works, whose ratio is known.
#include "engine/annealing/weights.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isinglass::weights_test {
namespace {

// Works of a Gaussian: w_F ~ N(c − s²/2, s²), w_R ~ N(−c − s²/2, s²) obey Crooks' relation
// p_F(w) e^w = e^c p_R(−w).
struct Works {
  torch::Tensor forward, reverse;

  Works(double c, double s, int64_t forwards, int64_t reverses, uint64_t seed) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    forward = c - s * s / 2 + s * torch::randn({forwards}, generator, torch::kFloat64);
    reverse = -c - s * s / 2 + s * torch::randn({reverses}, generator, torch::kFloat64);
  }
};

TEST(AcceptanceRatio, IsUnbiasedWithHonestErrors) {
  for (const auto& [forwards, reverses] : {std::pair(80, 80), {150, 40}}) {
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Works works(700, 1.5, forwards, reverses, seed);
      const LogRatio ratio = acceptance_ratio(works.forward, works.reverse);
      const double error = (ratio.value - 700) / ratio.standard_error;
      sum += error;
      squares += error * error;
    }
    const double mean = sum / 40, sd = std::sqrt(squares / 40 - mean * mean);
    EXPECT_LT(std::abs(mean), 4 / std::sqrt(40.0));
    EXPECT_GT(sd, 0.7);
    EXPECT_LT(sd, 1.4);
  }
}

// The root solves the equation, and exchanging the two sides changes its sign.
TEST(AcceptanceRatio, SolvesItsEquation) {
  const Works works(-3, 2, 7, 11, 3);
  const double c = acceptance_ratio(works.forward, works.reverse).value;
  const double m = std::log(7.0 / 11.0);
  const double up = (1 / (1 + torch::exp(c + m - works.forward))).sum().item<double>();
  const double down = (1 / (1 + torch::exp(-c - m - works.reverse))).sum().item<double>();
  EXPECT_NEAR(up, down, 1e-10);
  EXPECT_NEAR(acceptance_ratio(works.reverse, works.forward).value, -c, 1e-10);
  const torch::Tensor same = torch::full({4}, 2.5, torch::kFloat64);
  EXPECT_NEAR(acceptance_ratio(same, -same).value, 2.5, 1e-12);
}

TEST(AcceptanceRatio, UndefinedIsNoNumber) {
  const torch::Tensor good = torch::tensor({1.0, 2.0}, torch::kFloat64);
  for (const double bad : {double(INFINITY), std::nan("")}) {
    const torch::Tensor broken = torch::tensor({1.0, bad}, torch::kFloat64);
    EXPECT_TRUE(std::isnan(acceptance_ratio(good, broken).value));
    EXPECT_TRUE(std::isnan(acceptance_ratio(broken, good).value));
  }
  const torch::Tensor none = torch::full({3}, -INFINITY, torch::kFloat64);
  EXPECT_TRUE(std::isnan(acceptance_ratio(none, good).value));
  // A state that cannot be has the weight 0.
  const torch::Tensor some = torch::tensor({1.0, -double(INFINITY)}, torch::kFloat64);
  EXPECT_TRUE(std::isfinite(acceptance_ratio(some, good).value));
  const LogRatio one = acceptance_ratio(good.slice(0, 0, 1), good);
  EXPECT_TRUE(std::isfinite(one.value));
  EXPECT_TRUE(std::isnan(one.standard_error));
}

// The bootstrap agrees with the delta method where the weights are well behaved.
TEST(LogWeights, StandardErrorAndEss) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(2);
  const torch::Tensor log_w = 700 + 0.3 * torch::randn({2000}, generator, torch::kFloat64);
  const WeightSummary summary = summarise_weights(log_w, 0);
  const torch::Tensor w = torch::exp(log_w - 700);
  const double delta = (w.std() / w.mean()).item<double>() / std::sqrt(2000.0);
  EXPECT_NEAR(summary.standard_error, delta, 4 * delta / std::sqrt(2 * 1000.0));
  EXPECT_NEAR(summary.log_mean, 700 + std::log(w.mean().item<double>()), 1e-9);
  EXPECT_NEAR(summary.ess, 2000 / (1 + std::pow((w.std(false) / w.mean()).item<double>(), 2)),
              1e-6 * 2000);
}

TEST(LogWeights, UndefinedIsNoNumber) {
  const double inf = INFINITY, nan = std::nan("");
  for (const std::vector<double>& log_w :
       {std::vector<double>{1, nan, 2}, {inf, 1, 2}, {-inf, -inf}, {nan}, {inf, inf}}) {
    const WeightSummary summary = summarise_weights(torch::tensor(log_w, torch::kFloat64), 0);
    EXPECT_TRUE(std::isnan(summary.standard_error));
    EXPECT_TRUE(std::isnan(summary.ess));
    EXPECT_FALSE(std::isfinite(summary.log_mean));
  }
  const WeightSummary one = summarise_weights(torch::tensor({3.5}, torch::kFloat64), 0);
  EXPECT_EQ(one.log_mean, 3.5);
  EXPECT_TRUE(std::isnan(one.standard_error));
  // A state that cannot be has the weight 0; equal weights are exact.
  const WeightSummary equal =
      summarise_weights(torch::tensor({2.0, -inf, 2.0, 2.0}, torch::kFloat64), 0);
  EXPECT_DOUBLE_EQ(equal.ess, 3);
  EXPECT_DOUBLE_EQ(equal.log_mean, 2 + std::log(0.75));
}

TEST(LogWeights, TooFewAreSaidInWords) {
  EXPECT_EQ(weights_warning(10, 50), "");
  EXPECT_EQ(weights_warning(500, 500), "");
  EXPECT_NE(weights_warning(1.44, 50).find("1.4 of 50 chains, below 10"), std::string::npos);
  EXPECT_NE(weights_warning(9.99, 10), "");
  EXPECT_NE(weights_warning(std::nan(""), 10).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace isinglass::weights_test
