// elementary.h against the standard library in long double.
#include "kernels/base/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace isinglass::elementary_test {
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

// The reference reduces its angle to a quarter of a turn first: 2πu itself is rounded.
TEST(Elementary, SinesAndCosinesOfTurns) {
  std::mt19937_64 random(2);
  long double worst = 0;
  for (int i = 0; i < kNumbers; ++i) {
    // uniform, and close to each quarter
    const double v = static_cast<double>(random() >> 11) * 0x1p-53, near = std::ldexp(v, -i % 40);
    const double u = i % 2 ? v : (i / 2 % 4) * 0.25 + near / 4;
    const int quarter = static_cast<int>(std::round(4 * u)) % 4;
    const long double rest = u - static_cast<long double>(std::round(4 * u)) / 4;
    const long double s = std::sin(2 * std::acos(-1.0L) * rest);
    const long double c = std::cos(2 * std::acos(-1.0L) * rest);
    const long double sines[] = {s, c, -s, -c}, cosines[] = {c, -s, -c, s};
    const elementary::SinCos of = elementary::sincos_of_turn(u);
    for (const auto& [found, exact] :
         {std::pair(of.sin, sines[quarter]), std::pair(of.cos, cosines[quarter])}) {
      if (exact != 0) worst = std::max(worst, std::abs((found - exact) / exact));
    }
  }
  EXPECT_LT(worst, 4e-16L);
  EXPECT_GT(worst, 0);
  for (int quarter = 0; quarter < 4; ++quarter) {
    const elementary::SinCos of = elementary::sincos_of_turn(0.25 * quarter);
    EXPECT_EQ(of.sin, (quarter == 1) - (quarter == 3)) << quarter;
    EXPECT_EQ(of.cos, (quarter == 0) - (quarter == 2)) << quarter;
  }
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
  EXPECT_LT(elementary::exp_pair(-kInfinite).exp, 1e-300);
  EXPECT_EQ(elementary::exp_pair(-kInfinite).expm1, -1);
  EXPECT_EQ(elementary::exp_pair(0).expm1, 0);
  for (const double x : {elementary::exp(kNan), elementary::log(kNan), elementary::log(-1.0),
                         elementary::log1p(kNan), elementary::log1p(-2.0),
                         elementary::exp_pair(kNan).exp, elementary::exp_pair(kNan).expm1}) {
    EXPECT_TRUE(std::isnan(x));
  }
}

TEST(Elementary, ExpBelowIsExp) {
  for (double x = -800; x <= 700; x += 0.37)
    EXPECT_EQ(elementary::exp_below(x), elementary::exp(x));
  EXPECT_EQ(elementary::exp_below(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(elementary::exp_below(NAN)));
}

TEST(Elementary, Float32IsAccurate) {
  const auto exp = [](double x) { return elementary::exp_within(static_cast<float>(x)); };
  const auto expl = [](long double x) {
    return std::exp(static_cast<long double>(static_cast<float>(x)));
  };
  EXPECT_LT(worst(exp, expl, -80, 80), 3e-7);
  const auto change = [](double x) { return elementary::one_minus_exp(static_cast<float>(x)); };
  const auto changel = [](long double x) {
    return -std::expm1(-static_cast<long double>(static_cast<float>(x)));
  };
  EXPECT_LT(worst(change, changel, 0, 100), 3e-7);
  EXPECT_LT(worst(change, changel, -40, 0, true), 3e-7);
  EXPECT_EQ(elementary::one_minus_exp(0.0f), 0);
  EXPECT_EQ(elementary::one_minus_exp(1e30f), 1);
}

}  // namespace
}  // namespace isinglass::elementary_test
