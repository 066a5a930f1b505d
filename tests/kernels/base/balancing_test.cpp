// The four balancing functions: values against plain arithmetic, and g(t) = t·g(1/t).
#include "kernels/base/balancing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace isinglass::balancing_test {
namespace {

constexpr Balancing kAll[] = {Balancing::kSqrt, Balancing::kBarker, Balancing::kMin,
                              Balancing::kMax};

double plain(Balancing g, double t) {
  switch (g) {
    case Balancing::kSqrt:
      return std::sqrt(t);
    case Balancing::kBarker:
      return t / (1 + t);
    case Balancing::kMin:
      return std::min(1.0, t);
    case Balancing::kMax:
      return std::max(1.0, t);
  }
  return NAN;
}

TEST(BalancingFunctions, EqualPlainArithmetic) {
  for (const Balancing g : kAll) {
    for (double d = -20; d <= 20; d += 0.37) {
      EXPECT_NEAR(log_balance(g, d), std::log(plain(g, std::exp(d))), 1e-12);
    }
  }
}

TEST(BalancingFunctions, AreBalancedAndFiniteFarOut) {
  for (const Balancing g : kAll) {
    for (const double d : {0.0, 1e-9, 0.5, 3.0, 80.0, 700.0, 1e5}) {
      EXPECT_TRUE(std::isfinite(log_balance(g, d)) && std::isfinite(log_balance(g, -d)));
      EXPECT_NEAR(log_balance(g, d), d + log_balance(g, -d), 1e-12 * std::max(1.0, d));
    }
  }
}

}  // namespace
}  // namespace isinglass::balancing_test
