// Legacy ESS against its definition by plain loops, against theory, and where it is undefined.
#include "engine/diagnostics/ess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace isinglass::ess_test {
namespace {

// N / (−1 + 2 Σ (N−k)/N ρ_k), cut at the first negative ρ_k, in O(N²).
double plain_ess(const std::vector<double>& x) {
  const auto n = static_cast<int64_t>(x.size());
  double mean = 0;
  for (double v : x) mean += v / static_cast<double>(n);
  const auto covariance = [&](int64_t k) {
    double sum = 0;
    for (int64_t t = 0; t + k < n; ++t) sum += (x[t] - mean) * (x[t + k] - mean);
    return sum / static_cast<double>(n - k);
  };
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double rho = covariance(k) / covariance(0);
    if (rho < 0) break;
    sum += static_cast<double>(n - k) / static_cast<double>(n) * rho;
  }
  return static_cast<double>(n) / (2 * sum - 1);
}

torch::Tensor ar1(int64_t n, int64_t chains, double rho) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(17);
  const torch::Tensor noise = torch::randn({n, chains}, generator, torch::kFloat64);
  torch::Tensor x = noise.clone();
  x[0] /= std::sqrt(1 - rho * rho);
  for (int64_t t = 1; t < n; ++t) x[t] += rho * x[t - 1];
  return x;
}

TEST(LegacyEss, EqualsTheDefinition) {
  for (const double rho : {0.0, 0.6, 0.95}) {
    const torch::Tensor x = ar1(400, 3, rho);
    const torch::Tensor ess = tfp_ess(x);
    for (int64_t c = 0; c < 3; ++c) {
      const torch::Tensor column = x.select(1, c).contiguous();
      const std::vector<double> values(column.data_ptr<double>(), column.data_ptr<double>() + 400);
      EXPECT_NEAR(ess[c].item<double>(), plain_ess(values), 1e-6 * plain_ess(values));
    }
  }
}

TEST(LegacyEss, AgreesWithTheoryOnAr1) {
  const int64_t n = 20000, chains = 16;
  for (const double rho : {0.5, 0.9}) {
    const DiagnosticSummary summary = summarise(tfp_ess(ar1(n, chains, rho)));
    const double theory = static_cast<double>(n) * (1 - rho) / (1 + rho);
    EXPECT_NEAR(summary.mean, theory, 4 * summary.std / std::sqrt(16.0) + 0.03 * theory);
  }
}

TEST(LegacyEss, IsUndefinedRatherThanPlausible) {
  torch::Tensor x = ar1(100, 4, 0.5);
  x.select(1, 1).fill_(3.0);
  x[50][2] = INFINITY;
  const torch::Tensor ess = tfp_ess(x);
  EXPECT_TRUE(std::isfinite(ess[0].item<double>()));
  EXPECT_EQ(ess[1].item<double>(), 0);  // stuck, while others move
  EXPECT_TRUE(std::isnan(ess[2].item<double>()));
  EXPECT_EQ(summarise(ess).undefined, 1);
  EXPECT_EQ(summarise(ess).stuck, 1);
  EXPECT_TRUE(std::isnan(tfp_ess(x.slice(0, 0, 3))[0].item<double>()));
  EXPECT_TRUE(std::isnan(summarise(tfp_ess(torch::zeros({10, 2}))).mean));
}

// Nine of ten chains are stuck, each in another state: the ESS is a tenth of the moving chain's.
TEST(LegacyEss, CountsStuckChainsAsNothing) {
  torch::Tensor x = torch::arange(10, torch::kFloat64).expand({200, 10}).clone();
  x.select(1, 3).copy_(ar1(200, 1, 0.5).flatten());
  const DiagnosticSummary summary = summarise(tfp_ess(x));
  EXPECT_EQ(summary.stuck, 9);
  EXPECT_EQ(summary.undefined, 0);
  EXPECT_DOUBLE_EQ(10 * summary.mean, tfp_ess(x)[3].item<double>());
  EXPECT_EQ(summarise(tfp_ess(torch::arange(4).expand({20, 4}))).stuck, 4);
}

}  // namespace
}  // namespace isinglass::ess_test
