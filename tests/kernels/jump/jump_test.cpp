// The jump kernels against the reference: log q of the drawn state forward and backward, at sizes
// that are not multiples of a block, with |d| up to hundreds and ordered values; and the properties
// that hold for all rates.
#include "kernels/ops/jump.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/jump/transition_rows.h"
#include "tests/reference/jump.h"

namespace isinglass::jump_test {
namespace {

using reference::G;
using reference::Jump;
using reference::JumpCase;

constexpr JumpRule kRules[] = {JumpRule::kInterpolation, JumpRule::kForwardEuler,
                               JumpRule::kBackwardEuler, JumpRule::kLangevin};

struct Case {
  int64_t sites;
  int categories;
  bool one_hot;
  JumpRule rule;
  Balancing balancing;
  double scale, gradient_scale;
  int64_t chains = 4;

  JumpCase reference() const {
    return {static_cast<Jump>(rule), static_cast<G>(balancing), scale, !one_hot};
  }
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("D{}_K{}{}_rule{}_g{}_scale{}_d{}", c.sites, c.categories,
                     c.one_hot ? "onehot" : "", static_cast<int>(c.rule),
                     static_cast<int>(c.balancing), static_cast<int>(100 * c.scale),
                     static_cast<int>(c.gradient_scale));
}

std::vector<double> values_gradient(const torch::Tensor& of_site, const Case& c) {
  std::vector<double> row;
  for (int k = 0; k < c.categories; ++k) {
    row.push_back(c.one_hot ? of_site[k].item<double>() : k * of_site.item<double>());
  }
  return row;
}

// log q of one chain; extremes of lbjb by forests.
double reference_log_q(const Case& c, const torch::Tensor& gradient, const torch::Tensor& from,
                       const torch::Tensor& to) {
  long double sum = 0;
  for (int64_t i = 0; i < c.sites; ++i) {
    const auto row = values_gradient(gradient[i], c);
    const int at = from[i].item<int>(), next = to[i].item<int>();
    const bool forest = c.rule == JumpRule::kBackwardEuler && c.categories <= 7 && c.sites < 10;
    sum += logl(forest ? reference::forest_row(row, static_cast<G>(c.balancing), c.scale, at)[next]
                       : reference::jump_row(c.reference(), row, at)[next]);
  }
  return static_cast<double>(sum);
}

// log q of one chain with one site.
double one_site(const torch::Tensor& gradient, int categories, int from, int to, JumpRule rule,
                Balancing balancing, double scale) {
  torch::Tensor log_q = torch::empty({1}, torch::kFloat64);
  ops::score_jump(torch::full({1, 1}, from, torch::kUInt8), gradient,
                  torch::full({1, 1}, to, torch::kUInt8), torch::full({1}, scale, torch::kFloat64),
                  categories, rule, balancing, log_q);
  return log_q.item<double>();
}

constexpr double kFlipUnit = 0x1p-31;
constexpr double kFlipRounding = 2e-6;  // error of P(flip): about ten operations in float32

// Returns the same from the sites: the probability of each is that of the reference up to rounding
// of P(flip) in float32 and in 31 bits, and is never 0.
double flips_log_q(const Case& c, const torch::Tensor& gradient, const torch::Tensor& from,
                   const torch::Tensor& to) {
  double sum = 0;
  for (int64_t i = 0; i < c.sites; ++i) {
    const int at = from[i].item<int>(), next = to[i].item<int>();
    const double log_p =
        one_site(gradient[i].view({1, 1}), 2, at, next, c.rule, c.balancing, c.scale);
    const auto row = reference::jump_row(c.reference(), values_gradient(gradient[i], c), at);
    const auto flip = static_cast<double>(row[1 - at]);
    EXPECT_NEAR(std::exp(log_p), static_cast<double>(row[next]),
                2 * kFlipUnit + kFlipRounding * flip);
    EXPECT_GE(log_p, -31 * std::log(2.0) * (1 + 1e-15));
    sum += log_p;
  }
  return sum;
}

class JumpKernel : public testing::TestWithParam<Case> {};

TEST_P(JumpKernel, ScoresEqualTheReference) {
  const Case& c = GetParam();
  auto generator = at::make_generator<at::CPUGeneratorImpl>(11);
  const torch::Tensor x =
      torch::randint(0, c.categories, {c.chains, c.sites}, generator, torch::kUInt8);
  std::vector<int64_t> shape = {c.chains, c.sites};
  if (c.one_hot) shape.push_back(c.categories);
  const auto gradient = [&] {
    return ((2 * torch::rand(shape, generator) - 1) * c.gradient_scale).contiguous();
  };
  const torch::Tensor at_x = gradient(), at_y = gradient();
  const torch::Tensor scale = torch::full({1}, c.scale, torch::kFloat64);
  torch::Tensor y = torch::full_like(x, 255);
  torch::Tensor forward = torch::empty({c.chains}, torch::kFloat64), again = forward.clone(),
                backward = forward.clone();
  ops::draw_jump(x, at_x, torch::tensor({int64_t{5}, int64_t{0}}), torch::arange(c.chains), scale,
                 c.categories, c.rule, c.balancing, y, forward);
  ASSERT_LT(y.max().item<int>(), c.categories);
  ops::score_jump(x, at_x, y, scale, c.categories, c.rule, c.balancing, again);
  EXPECT_TRUE(torch::equal(forward, again)) << "drawing and scoring must be one function";
  ops::score_jump(y, at_y, x, scale, c.categories, c.rule, c.balancing, backward);
  for (int64_t chain = 0; chain < c.chains; ++chain) {
    const auto expected = c.categories == 2 && !c.one_hot ? flips_log_q : reference_log_q;
    const double q = expected(c, at_x[chain], x[chain], y[chain]);
    const double r = expected(c, at_y[chain], y[chain], x[chain]);
    EXPECT_NEAR(forward[chain].item<double>(), q, 1e-11 * std::max(1.0, -q));
    EXPECT_NEAR(backward[chain].item<double>(), r, 1e-11 * std::max(1.0, -r));
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const JumpRule rule : kRules) {
    const bool solved = rule == JumpRule::kBackwardEuler;
    for (int g = 0; g < (rule == JumpRule::kLangevin ? 1 : 4); ++g) {
      const auto b = static_cast<Balancing>(g);
      for (const double scale : {0.1, 1.0, 10.0}) {
        all.push_back({37, 2, false, rule, b, scale, 300});  // |d| ≤ 300
        all.push_back({37, 3, true, rule, b, scale, 150});
      }
      all.push_back({784, 2, false, rule, b, 0.3, 3});
      all.push_back({100, 3, true, rule, b, 1, 2});
      all.push_back({100, 7, true, rule, b, 1, solved ? 2.0 : 150.0, 2});
      all.push_back({1, 7, true, rule, b, 1, 150, 3});
      all.push_back({33, 5, false, rule, b, 1, solved ? 2.0 : 60.0, 2});  // ordered
    }
    all.push_back({100, 2, true, rule, Balancing::kSqrt, 1, 40});
    all.push_back({5, solved ? 64 : 256, true, rule, Balancing::kSqrt, 1, 2});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, JumpKernel, testing::ValuesIn(cases()), name_of);

// Every row is a distribution with finite logarithms, at any rates and times.
TEST(JumpRows, AreDistributionsAtAnyRate) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(3);
  for (const JumpRule rule : kRules) {
    for (int g = 0; g < 4; ++g) {
      for (const int categories : {2, 3, 6}) {
        for (const double size : {0.0, 1.0, 80.0, 700.0}) {
          for (const double scale : {1e-6, 1.0, 1e6}) {
            const torch::Tensor gradient = torch::randn({1, 1, categories}, generator) * size;
            SCOPED_TRACE(fmt::format("rule {} g {} K {} size {} scale {}", static_cast<int>(rule),
                                     g, categories, size, scale));
            for (int from = 0; from < categories; ++from) {
              double total = 0;
              for (int to = 0; to < categories; ++to) {
                const double log_p = one_site(gradient, categories, from, to, rule,
                                              static_cast<Balancing>(g), scale);
                EXPECT_TRUE(std::isfinite(log_p));
                EXPECT_LE(log_p, 1e-15);  // 1, rounded up
                total += std::exp(log_p);
              }
              EXPECT_NEAR(total, 1, 1e-12);
            }
          }
        }
      }
    }
  }
}

// Both probabilities of a binary site are whole multiples of 2^−31 that add up to 1.
TEST(JumpRows, FlipsAreDistributionsAtAnyRate) {
  for (const JumpRule rule : kRules) {
    for (int g = 0; g < 4; ++g) {
      for (const double d :
           {-1e30, -700.0, -80.0, -20.0, -1.0, 0.0, 1.0, 20.0, 80.0, 700.0, 1e30}) {
        for (const double scale : {1e-6, 1.0, 1e6}) {
          const torch::Tensor gradient = torch::full({1, 1}, -d, torch::kFloat32);
          const auto p = [&](int to) {
            return std::exp(one_site(gradient, 2, 0, to, rule, static_cast<Balancing>(g), scale));
          };
          EXPECT_GE(p(1), kFlipUnit * (1 - 1e-14));
          EXPECT_GE(p(0), kFlipUnit * (1 - 1e-14));
          EXPECT_NEAR(p(0) + p(1), 1, 1e-14);
          EXPECT_NEAR(p(1) / kFlipUnit, std::round(p(1) / kFlipUnit), 1e-5);
        }
      }
    }
  }
}

// Staying keeps its digits when it is almost certain, and when it is almost impossible.
TEST(JumpRows, StayingKeepsItsDigits) {
  const auto log_stay = [](JumpRule rule, double d, double scale) {
    const torch::Tensor gradient = torch::tensor({0.0f, -static_cast<float>(d)}).view({1, 1, 2});
    return one_site(gradient, 2, 0, 0, rule, Balancing::kSqrt, scale);
  };
  // d = −80: P_flip = σ(d)(1 − exp(−2τ cosh(d/2))), so tiny that log P_stay = −P_flip.
  EXPECT_NEAR(log_stay(JumpRule::kInterpolation, -80, 1) / -std::exp(-80.0), 1, 1e-12);
  EXPECT_NEAR(log_stay(JumpRule::kForwardEuler, -80, 1) / -std::exp(-40.0), 1, 1e-12);
  // τθ01 / (1 + τ(θ01 + θ10)) = e^{−40} / e^{40}
  EXPECT_NEAR(log_stay(JumpRule::kBackwardEuler, -80, 1) / -std::exp(-80.0), 1, 1e-12);
  EXPECT_NEAR(log_stay(JumpRule::kLangevin, -80, 0.5) / -std::exp(-41.0), 1, 1e-12);
  // d = 80: P_stay = σ(−d) + …, (1 + τθ10) / (τθ01), 1 / (1 + e^{d/2 − 1/(2a)}), and ε.
  EXPECT_NEAR(log_stay(JumpRule::kInterpolation, 80, 1), -80, 1e-12);
  EXPECT_NEAR(log_stay(JumpRule::kBackwardEuler, 80, 1), -40, 1e-12);
  EXPECT_NEAR(log_stay(JumpRule::kLangevin, 80, 0.5), -39, 1e-12);
  EXPECT_NEAR(log_stay(JumpRule::kForwardEuler, 80, 1), std::log(0.01), 1e-12);
}

// lbj of two values is the process itself: e^{τQ}.
TEST(JumpRows, InterpolationIsExactForTwoValues) {
  for (int g = 0; g < 4; ++g) {
    for (const double d : {-3.0, -0.5, 0.0, 1.75}) {
      for (const double tau : {0.1, 1.0, 10.0}) {
        const auto exact = reference::two_value_exponential({0.0, -d}, static_cast<G>(g), tau);
        const auto gradient = torch::tensor({0.0f, -static_cast<float>(d)});
        const auto probability = [&](const torch::Tensor& of_site, int from, int to) {
          return std::exp(one_site(of_site, 2, from, to, JumpRule::kInterpolation,
                                   static_cast<Balancing>(g), tau));
        };
        for (int from = 0; from < 2; ++from) {
          for (int to = 0; to < 2; ++to) {
            SCOPED_TRACE(fmt::format("g {} d {} tau {}", g, d, tau));
            EXPECT_NEAR(probability(gradient.view({1, 1, 2}), from, to), exact[from][to], 1e-9);
            EXPECT_NEAR(probability(gradient.slice(0, 1).view({1, 1}), from, to), exact[from][to],
                        2 * kFlipUnit + kFlipRounding * exact[from][1 - from]);
          }
        }
      }
    }
  }
}

// A NaN gradient must not turn into a probability: the step has to reject it.
TEST(JumpRows, NoNumberInNoNumberOut) {
  for (const JumpRule rule : kRules) {
    for (const int categories : {2, 4}) {
      const torch::Tensor gradient = torch::full({1, 1, categories}, NAN);
      for (const int to : {0, 1}) {
        EXPECT_TRUE(std::isnan(one_site(gradient, categories, 0, to, rule, Balancing::kSqrt, 1.0)))
            << static_cast<int>(rule) << " to " << to;
        for (const double d : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
          const torch::Tensor flip = torch::full({1, 1}, d, torch::kFloat32);
          EXPECT_TRUE(std::isnan(one_site(flip, 2, 0, to, rule, Balancing::kSqrt, 1.0)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::jump_test
