// The ordered kernels: log q of the drawn values sums over all values to one and equals the formula
// with v·(α c + x/σ), for slopes that dwarf everything and scales from near 0 to near infinity; and
// the moments of the normal numbers.
#include "kernels/ops/any_scale.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/categorical_cpu.h"
#include "kernels/ops/random.h"
#include "kernels/random/normal.h"

namespace isinglass::any_scale_test {
namespace {

// log q(v) of one site as docs/concepts/samplers.md writes it, in long double.
double reference_log_q(double score, double diagonal, double sigma, double alpha, int x, int v,
                       int categories) {
  const long double c = static_cast<long double>(score) + static_cast<long double>(diagonal) * x;
  const auto logit = [&](int k) -> long double {
    return k * (alpha * c + x / static_cast<long double>(sigma)) -
           0.5L * k * k * (alpha * static_cast<long double>(diagonal) + 1.0L / sigma);
  };
  long double top = logit(0), total = 0;
  for (int k = 1; k < categories; ++k) top = std::max(top, logit(k));
  for (int k = 0; k < categories; ++k) total += std::exp(logit(k) - top);
  return static_cast<double>(logit(v) - top - std::log(total));
}

TEST(OrderedKernel, ScoresEqualTheFormula) {
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(1);
  for (const int categories : {2, 3, 17, 256}) {
    for (const double gradient_scale : {1.0, 80.0, 3000.0}) {
      for (const double sigma : {1e-4, 0.5, 1e9}) {
        SCOPED_TRACE(fmt::format("K {} gradient {} sigma {}", categories, gradient_scale, sigma));
        const int64_t chains = 5, sites = 37;
        const auto real = torch::kFloat64;
        const torch::Tensor x =
            torch::randint(0, categories, {chains, sites}, generator, torch::kUInt8);
        ops::OrderedInputs inputs;
        inputs.gradient = torch::randn({chains, sites}, generator) * gradient_scale;
        inputs.diagonal = torch::rand({sites}, generator, real);
        inputs.scale = torch::tensor({sigma, 0.7}, real);
        torch::Tensor y = torch::empty_like(x), move = torch::empty({chains, sites}, real);
        torch::Tensor forward = torch::empty({chains}, real), again = torch::empty({chains}, real);
        const torch::Tensor rng = torch::tensor({7, 3}, torch::kInt64), ids = torch::arange(chains);
        ops::draw_ordered(x, inputs, categories, rng, ids, y, move, forward);
        ops::score_ordered(x, y, inputs, categories, again);
        EXPECT_TRUE(torch::equal(forward, again));
        EXPECT_TRUE(torch::equal(move, y.to(real) - x.to(real)));
        for (int64_t b = 0; b < chains; ++b) {
          double sum = 0;
          for (int64_t i = 0; i < sites; ++i) {
            sum += reference_log_q(-inputs.gradient[b][i].item<double>(),
                                   inputs.diagonal[i].item<double>(), sigma, 0.7,
                                   x[b][i].item<int>(), y[b][i].item<int>(), categories);
          }
          EXPECT_TRUE(std::isfinite(sum));
          EXPECT_NEAR(forward[b].item<double>(), sum, 1e-9 * (1 + std::abs(sum)));
        }
      }
    }
  }
}

// The smaller of two values is drawn as often as its probability requires, for any slope.
TEST(OrderedKernel, ValuesAtTheirQuantiles) {
  for (const double slope : {-80.0, -2.0, 0.0, 0.3, 80.0}) {
    const Categorical row(4, OrderedLogWeight{slope, 0.9, 1});
    double from = 0;
    for (int v = 0; v < 4; ++v) {
      const double p = std::exp(row.log_probability(v));
      if (p > 1e-12) {
        EXPECT_EQ(row.draw(from + 0.5 * p, 1), v);
      }
      from += p;
    }
    EXPECT_NEAR(from, 1, 1e-12);
  }
  const Categorical undefined(4, OrderedLogWeight{NAN, 0.9, 1});
  EXPECT_EQ(undefined.draw(0.5, 1), 1);
  EXPECT_TRUE(std::isnan(undefined.log_probability(1)));
}

// A row computed in vectors has the same bits as one computed without.
TEST(OrderedKernel, RowsOfManyValuesEqualThoseOneByOne) {
  for (const int values : {2, 16, 17, 32, 33, 255, 256}) {
    for (const double slope : {-80.0, 0.0, 0.3, 900.0}) {
      const OrderedLogWeight some{slope, 0.9, values / 3};
      const auto log_weight = [&](int v) { return v == 1 ? -INFINITY : some(v); };
      const Categorical row(values, log_weight);
      const cpu::WrittenCategorical written(values, [&](double* of_value) {
        for (int v = 0; v < values; ++v) of_value[v] = log_weight(v);
      });
      EXPECT_EQ(written.log_sum(), row.log_sum()) << values << " values, slope " << slope;
      for (int v = 0; v < values; ++v) {
        EXPECT_EQ(written.log_probability(v), row.log_probability(v));
        EXPECT_EQ(written.draw((v + 0.5) / values, 0), row.draw((v + 0.5) / values, 0));
      }
    }
  }
}

// Mean, variance, third and fourth moment are within 6 standard errors. Neighbours are
// uncorrelated, and so are the two numbers of a call, and their squares.
TEST(Normals, HaveTheirMoments) {
  const int64_t chains = 1000, sites = 301;
  torch::Tensor out = torch::empty({chains, sites}, torch::kFloat64);
  ops::step_normals(torch::tensor({11, 5}, torch::kInt64), torch::arange(chains), out);
  const double se = 1 / std::sqrt(static_cast<double>(out.numel()));
  EXPECT_NEAR(out.mean().item<double>(), 0, 6 * se);
  EXPECT_NEAR(out.pow(2).mean().item<double>(), 1, 6 * std::sqrt(2.0) * se);
  EXPECT_NEAR(out.pow(3).mean().item<double>(), 0, 6 * std::sqrt(15.0) * se);
  EXPECT_NEAR(out.pow(4).mean().item<double>(), 3, 6 * std::sqrt(96.0) * se);
  const torch::Tensor left = out.narrow(1, 0, sites - 1), right = out.narrow(1, 1, sites - 1);
  EXPECT_NEAR((left * right).mean().item<double>(), 0, 6 * se);
  const torch::Tensor calls = out.narrow(1, 0, sites / 16 * 16).reshape({-1, 2, 8});
  const torch::Tensor cosines = calls.select(1, 0), sines = calls.select(1, 1);
  const double of_pairs = 1 / std::sqrt(static_cast<double>(cosines.numel()));
  EXPECT_NEAR((cosines * sines).mean().item<double>(), 0, 6 * of_pairs);
  const torch::Tensor squares = (cosines.pow(2) - 1) * (sines.pow(2) - 1);
  EXPECT_NEAR(squares.mean().item<double>(), 0, 6 * 2 * of_pairs);
  EXPECT_TRUE(torch::isfinite(out).all().item<bool>());
}

}  // namespace
}  // namespace isinglass::any_scale_test
