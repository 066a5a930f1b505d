// elementary.h against the standard library in long double, and vector lanes against single
// numbers.
#include "kernels/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/site_lanes_cpu.h"

namespace isinglass {
namespace {

constexpr int kNumbers = 100000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The largest |f(x)/exact(x) − 1| over uniform x, or x = e^{uniform}.
template <class F, class Exact>
double worst(F f, Exact exact, double least, double most, bool exponential = false) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(least, most);
  long double worst = 0;
  for (int i = 0; i < kNumbers; ++i) {
    const double u = uniform(random), x = exponential ? std::exp(u) : u;
    const long double y = exact(static_cast<long double>(x));
    if (y != 0) worst = std::max(worst, std::abs((f(x) - y) / y));
  }
  return static_cast<double>(worst);
}

TEST(Elementary, IsAccurate) {
  const auto log1pl = [](long double x) { return std::log1p(x); };
  const auto expm1 = [](double x) { return elementary::exp_pair(x).expm1; };
  const auto exp_of_pair = [](double x) { return elementary::exp_pair(x).exp; };
  const auto expl = [](long double x) { return std::exp(x); };
  const auto expm1l = [](long double x) { return std::expm1(x); };
  const auto logl = [](long double x) { return std::log(x); };
  EXPECT_LT(worst(elementary::exp, expl, -707.9, 709.7), 5e-16);
  EXPECT_LT(worst(elementary::exp, expl, -1, 1), 5e-16);
  EXPECT_LT(worst(exp_of_pair, expl, -707.9, 0), 5e-16);
  EXPECT_LT(worst(expm1, expm1l, -5, 0), 1e-15);
  EXPECT_LT(worst(expm1, expm1l, -1e-6, 0), 5e-16);
  EXPECT_LT(worst(elementary::log, logl, -740, 709, true), 5e-16);
  EXPECT_LT(worst(elementary::log, logl, 0.5, 2), 5e-16);
  EXPECT_LT(worst(elementary::log1p, log1pl, -60, 5, true), 5e-16);
  EXPECT_LT(worst(elementary::log1p, log1pl, -0.9999, 0.5), 5e-16);
}

TEST(Elementary, KnowsTheLimits) {
  EXPECT_EQ(elementary::exp(0), 1);
  EXPECT_EQ(elementary::exp(-kInfinite), 0);
  EXPECT_EQ(elementary::exp(-800), 0);
  EXPECT_EQ(elementary::exp(kInfinite), kInfinite);
  EXPECT_EQ(elementary::exp(800), kInfinite);
  EXPECT_EQ(elementary::log(1), 0);
  EXPECT_EQ(elementary::log(0), -kInfinite);
  EXPECT_EQ(elementary::log(kInfinite), kInfinite);
  EXPECT_EQ(elementary::log1p(-1), -kInfinite);
  EXPECT_EQ(elementary::log1p(1e-300), 1e-300);
  EXPECT_EQ(elementary::log1p(kInfinite), kInfinite);
  EXPECT_EQ(elementary::exp_pair(-kInfinite).exp, 0);
  EXPECT_EQ(elementary::exp_pair(-kInfinite).expm1, -1);
  EXPECT_EQ(elementary::exp_pair(0).expm1, 0);
  for (const double x : {elementary::exp(kNan), elementary::log(kNan), elementary::log(-1.0),
                         elementary::log1p(kNan), elementary::log1p(-2.0),
                         elementary::exp_pair(kNan).exp, elementary::exp_pair(kNan).expm1}) {
    EXPECT_TRUE(std::isnan(x));
  }
}

// What keeps a step that refreshes some sites equal to one that takes all again.
TEST(Elementary, LanesEqualSingleNumbers) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0, 8);
  for (int repeat = 0; repeat < 50; ++repeat) {
    float gradient[kBlockSites];
    uint8_t x[kBlockSites];
    for (int i = 0; i < kBlockSites; ++i) {
      gradient[i] = i == 5 ? 700.0f : normal(random);
      x[i] = random() % 2;
    }
    double d[kBlockSites], u[kBlockSites], stay[kBlockSites], move[kBlockSites];
    double log_weight[kBlockSites], weight[kBlockSites], log_p[kBlockSites];
    int64_t stays[kBlockSites];
    uint8_t y[kBlockSites];
    cpu::flip_differences(gradient, x, d);
    const Draws draws{77, 3, static_cast<uint32_t>(repeat)};
    cpu::uniforms(draws, Purpose::kValue, 64, u);
    for (int g = 0; g < 4; ++g) {
      const auto balancing = static_cast<Balancing>(g);
      cpu::log_balances(balancing, d, log_weight);
      cpu::scaled_weights(log_weight, 64, weight);
      for (int i = 0; i < kBlockSites; ++i) {
        EXPECT_EQ(d[i], ordered_difference(gradient, i, x[i], 1 - x[i]));
        EXPECT_EQ(u[i], draws.uniform(Purpose::kValue, 64 + i));
        EXPECT_EQ(log_weight[i], log_balance(balancing, d[i]));
        EXPECT_EQ(weight[i], scaled_weight(log_weight[i], 64));
      }
      for (int rule = 0; rule < 4; ++rule) {
        const JumpTime time({1, kBlockSites, 2, false, static_cast<JumpRule>(rule), balancing}, .7);
        cpu::binary_rows(time, d, stay, move);
        cpu::draw_stays(stay, u, x, stays, y);
        cpu::log_probabilities(d, stay, move, stays, log_p);
        for (int i = 0; i < kBlockSites; ++i) {
          const BinaryRow row = binary_row(time.rule, balancing, time, d[i]);
          if (!in_range(d[i], row.stay) || !in_range(d[i], row.move)) continue;
          EXPECT_EQ(stay[i], row.stay) << "rule " << rule << ", g " << g << ", d " << d[i];
          EXPECT_EQ(log_p[i], row.log_probability(stays[i]));
          EXPECT_EQ(move[i], row.move) << "rule " << rule << ", g " << g << ", d " << d[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
