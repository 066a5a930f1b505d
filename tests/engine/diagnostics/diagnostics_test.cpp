// Diagnostics of chains against the numbers of ArviZ and TensorFlow Probability, which
// data/diagnostics_reference.py computed, against theory and plain loops, and where they are
// undefined.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "engine/diagnostics/autocorrelation.h"
#include "engine/diagnostics/burn_in.h"
#include "engine/diagnostics/ess.h"
#include "engine/diagnostics/mmd.h"
#include "engine/diagnostics/rank_normalised.h"
#include "engine/observers/statistic.h"
#include "io/error.h"
#include "io/pt/pt_file.h"
#include "tests/support/source_tree.h"

namespace isinglass::diagnostics_test {
namespace {

torch::Tensor ar1(int64_t n, int64_t chains, double rho) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  torch::Tensor x = torch::empty({chains, n}, torch::kFloat64);
  for (int64_t c = 0; c < chains; ++c) {
    double* row = x[c].data_ptr<double>();
    row[0] = normal(generator) / std::sqrt(1 - rho * rho);
    for (int64_t t = 1; t < n; ++t) row[t] = rho * row[t - 1] + normal(generator);
  }
  return x.t();
}

TEST(DiagnosticsReference, EqualsArvizAndTensorFlowProbability) {
  std::map<std::string, torch::Tensor> file;
  for (auto& [key, value] :
       read_named_tensors(source_tree() / "tests/engine/data/diagnostics_reference.pt")) {
    file[key] = value;
  }
  int cases = 0;
  for (const auto& [key, series] : file) {
    if (!key.ends_with(".series")) continue;
    const std::string name = key.substr(0, key.size() - 7);
    SCOPED_TRACE(name);
    const torch::Tensor arviz = file.at(name + ".arviz");
    EXPECT_NEAR(bulk_ess(series), arviz[0].item<double>(), 1e-8 * arviz[0].item<double>());
    EXPECT_NEAR(tail_ess(series), arviz[1].item<double>(), 1e-8 * arviz[1].item<double>());
    if (series.size(1) > 1) {
      EXPECT_NEAR(rank_rhat(series), arviz[2].item<double>(), 1e-10);
    } else {
      EXPECT_TRUE(std::isnan(rank_rhat(series)));
    }
    const torch::Tensor tfp = file.at(name + ".tfp"), own = tfp_ess(series);
    EXPECT_TRUE(torch::allclose(own, tfp, 1e-8, 0)) << own << tfp;
    ++cases;
  }
  EXPECT_EQ(cases, 7);
}

// ESS of the indicator x ≤ q, P(x ≤ q) = p, of a Gaussian AR(1) process: N / (1 + 2 Σ_k r_k) with
// r_k·p(1 − p) = ∫_0^{ρ^k} exp(−q²/(1 + s)) / (2π√(1 − s²)) ds (Plackett's identity; Simpson in the
// angle arcsin s).
double indicator_ess(double draws, double rho, double q, double p) {
  const auto covariance = [&](double correlation) {
    const double end = std::asin(correlation);
    constexpr int kCells = 2000;
    double sum = 0;
    for (int i = 0; i <= kCells; ++i) {
      const double weight = i == 0 || i == kCells ? 1 : i % 2 ? 4 : 2;
      sum += weight * std::exp(-q * q / (1 + std::sin(end * i / kCells)));
    }
    return sum * end / kCells / 3 / (2 * M_PI);
  };
  double time = 1;
  for (double correlation = rho; correlation > 1e-8; correlation *= rho) {
    time += 2 * covariance(correlation) / (p * (1 - p));
  }
  return draws / time;
}

void expect_theory(double rho, int64_t chains) {
  SCOPED_TRACE(rho);
  const torch::Tensor x = ar1(100000, chains, rho);
  const double draws = static_cast<double>(x.numel()), theory = draws * (1 - rho) / (1 + rho);
  EXPECT_NEAR(bulk_ess(x), theory, 0.03 * theory);
  const double tail = indicator_ess(draws, rho, 1.6448536269514722, 0.95);
  EXPECT_NEAR(tail_ess(x), tail, 0.03 * tail);
  EXPECT_NEAR(rank_rhat(x), 1, 0.01);
  const double own = summarise(tfp_ess(x)).mean * static_cast<double>(chains);
  EXPECT_NEAR(own, theory, 0.03 * theory);
}

TEST(DiagnosticsTheory, HoldsForAutoregressiveChains) {
  for (const double rho : {0.0, 0.5, 0.9}) expect_theory(rho, 8);
}

// A chain holds 500 independent draws' worth, and its ESS has a standard deviation of 13 %.
TEST(DiagnosticsTheoryLong, HoldsForSlowChains) {
  expect_theory(0.99, 64);
}

TEST(Autocorrelation, IsThatOfTheProcess) {
  const torch::Tensor rho = autocorrelation(ar1(200000, 2, 0.8));
  for (int64_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(rho[k][0].item<double>(), std::pow(0.8, k), 0.02);  // 4 standard errors
  }
  torch::Tensor constant = torch::zeros({10, 2});
  constant[3][1] = 1;
  EXPECT_TRUE(torch::isnan(autocorrelation(constant)).all(0)[0].item<bool>());
  EXPECT_FALSE(torch::isnan(autocorrelation(constant)).any(0)[1].item<bool>());
}

TEST(Statistics, HaveTheirNames) {
  const StateSpace space{.kind = StateKind::kBinary, .sites = 3, .categories = 2};
  ChainState state;
  state.x = torch::tensor({0, 1, 1, 1, 1, 1}, torch::kUInt8).view({2, 3});
  for (const std::string& name : statistic_names()) {
    const Statistic statistic = make_statistic(name, space, torch::kCPU);
    EXPECT_EQ(static_cast<bool>(statistic), name != "energy");
    if (name != "sum") continue;
    EXPECT_TRUE(statistic(state).equal(torch::tensor({2.0, 3.0}, torch::kFloat64)));
  }
  EXPECT_THROW(make_statistic("magnetisation", space, torch::kCPU), Error);
  EXPECT_THROW(make_statistic("", space, torch::kCPU), Error);
}

// The limit N log10(N) is all that ArviZ returns for fewer than ten draws.
TEST(RankDiagnostics, TheEssOfSeriesThatAreTooShortIsUndefined) {
  const torch::Tensor x = ar1(100, 3, 0.5).contiguous();
  for (int64_t n = 4; n < 10; ++n) {
    EXPECT_TRUE(std::isnan(bulk_ess(x.slice(0, 0, n)))) << n;
    EXPECT_TRUE(std::isnan(tail_ess(x.slice(0, 0, n)))) << n;
    EXPECT_TRUE(std::isfinite(rank_rhat(x.slice(0, 0, n)))) << n;
  }
  for (int64_t n : {10, 11, 12, 30}) {
    const double draws = static_cast<double>(3 * (n / 2 * 2));
    EXPECT_GT(bulk_ess(x.slice(0, 0, n)), 0);
    EXPECT_LE(bulk_ess(x.slice(0, 0, n)), draws * std::log10(draws) * (1 + 1e-12));
  }
}

TEST(RankDiagnostics, AreUndefinedRatherThanPlausible) {
  torch::Tensor x = ar1(100, 3, 0.5).contiguous();
  const auto diagnostics = {bulk_ess, tail_ess, rank_rhat};
  for (const auto of : diagnostics) {
    const auto diagnostic = [of](const torch::Tensor& series) {
      return of(series, kCarriedRounding);
    };
    EXPECT_TRUE(std::isfinite(diagnostic(x)));
    EXPECT_TRUE(std::isnan(diagnostic(x.slice(0, 0, 3))));
    EXPECT_TRUE(std::isnan(diagnostic(torch::full({50, 3}, 2.5))));
    for (const double bad : {double(NAN), double(INFINITY)}) {
      torch::Tensor broken = x.clone();
      broken[7][1] = bad;
      EXPECT_TRUE(std::isnan(diagnostic(broken)));
    }
  }
  // All chains are stuck, each in another state: there is no variance within chains, and R̂ is
  // infinite.
  EXPECT_EQ(agreement_rhat(torch::full({50, 3}, 2.5)), 1);
  EXPECT_TRUE(std::isnan(agreement_rhat(torch::full({3, 3}, 2.5))));
  EXPECT_TRUE(std::isnan(agreement_rhat(torch::full({50, 1}, 2.5))));
  EXPECT_TRUE(std::isnan(agreement_rhat(torch::full({50, 3}, double(INFINITY)))));
  EXPECT_EQ(agreement_rhat(x), rank_rhat(x));
  EXPECT_TRUE(std::isinf(rank_rhat(torch::arange(4).expand({20, 4}))));
  EXPECT_TRUE(std::isinf(rank_rhat(torch::tensor({0.1, 0.3, 0.3, 0.7}).expand({20, 4}))));
}

// Plain loops over pairs of draws.
double kernel(const torch::Tensor& a, const torch::Tensor& b) {
  return std::exp(-(a != b).to(torch::kFloat64).mean().item<double>());
}

double plain_u(const torch::Tensor& x, const torch::Tensor& y) {
  const auto mean = [](const torch::Tensor& a, const torch::Tensor& b, bool same) {
    double sum = 0, pairs = 0;
    for (int64_t g = 0; g < a.size(0); ++g) {
      for (int64_t h = 0; h < b.size(0); ++h) {
        if (same && g == h) continue;
        for (int64_t i = 0; i < a.size(1); ++i) {
          for (int64_t j = 0; j < b.size(1); ++j, ++pairs) sum += kernel(a[g][i], b[h][j]);
        }
      }
    }
    return sum / pairs;
  };
  return mean(x, x, true) + mean(y, y, true) - 2 * mean(x, y, false);
}

torch::Tensor without(const torch::Tensor& x, int64_t g) {
  return torch::cat({x.slice(0, 0, g), x.slice(0, g + 1)});
}

double plain_error(const torch::Tensor& x, const torch::Tensor& y) {
  const auto variance = [](int64_t groups, const auto& estimate) {
    double mean = 0, square = 0;
    for (int64_t g = 0; g < groups; ++g) mean += estimate(g) / static_cast<double>(groups);
    for (int64_t g = 0; g < groups; ++g) square += std::pow(estimate(g) - mean, 2);
    return static_cast<double>(groups - 1) / static_cast<double>(groups) * square;
  };
  return std::sqrt(variance(x.size(0), [&](int64_t g) { return plain_u(without(x, g), y); }) +
                   variance(y.size(0), [&](int64_t g) { return plain_u(x, without(y, g)); }));
}

TEST(HammingMmd, EqualsItsDefinition) {
  torch::manual_seed(3);
  const torch::Tensor x = torch::randint(3, {4, 3, 5}, torch::kUInt8);
  const torch::Tensor y = torch::randint(2, {5, 2, 5}, torch::kUInt8);
  const Mmd mmd = hamming_mmd(x, y);
  EXPECT_NEAR(mmd.u_statistic, plain_u(x, y), 1e-12);
  EXPECT_NEAR(mmd.standard_error, plain_error(x, y), 1e-12);
  EXPECT_EQ(hamming_mmd(x, x).v_statistic, 0);
  EXPECT_TRUE(std::isnan(hamming_mmd(x.slice(0, 0, 1), y).u_statistic));
  EXPECT_TRUE(std::isnan(hamming_mmd(x.slice(0, 0, 2), y).standard_error));
  EXPECT_THROW(hamming_mmd(x, y.slice(2, 0, 4)), Error);
}

// For two samples of one law, the U-statistic's mean is 0 and its interval covers 0 in 95 % of
// trials; the V-statistic's mean is its floor. This also holds for groups of dependent draws.
TEST(HammingMmd, HasNoBiasAndAnHonestInterval) {
  torch::manual_seed(4);
  constexpr int64_t kTrials = 300, kGroups = 12, kDraws = 3, kSites = 6;
  double sum = 0, squares = 0, covered = 0;
  for (int64_t trial = 0; trial < kTrials; ++trial) {
    const auto sample = [&] {  // a draw differs from the first of its group at few sites
      const torch::Tensor first = torch::randint(2, {kGroups, 1, kSites}, torch::kUInt8);
      return first.bitwise_xor((torch::rand({kGroups, kDraws, kSites}) < 0.1).to(torch::kUInt8));
    };
    const Mmd mmd = hamming_mmd(sample(), sample());
    sum += mmd.u_statistic;
    squares += mmd.u_statistic * mmd.u_statistic;
    covered += mmd.lower() <= 0 && 0 <= mmd.upper();
  }
  const double trials = static_cast<double>(kTrials);
  EXPECT_NEAR(sum / trials, 0, 4 * std::sqrt(squares / trials / trials));
  // Degenerate under equality, so the interval is wider than it need be, never narrower.
  EXPECT_GE(covered / trials, 0.95 - 4 * std::sqrt(0.95 * 0.05 / trials));
  const torch::Tensor a = torch::randint(2, {400, 1, 8}, torch::kUInt8);
  const torch::Tensor b = torch::randint(2, {300, 1, 8}, torch::kUInt8);
  const double expected_kernel = std::pow((1 + std::exp(-1.0 / 8)) / 2, 8);
  const double floor = (1.0 / 400 + 1.0 / 300) * (1 - expected_kernel);
  const Mmd independent = hamming_mmd(a, b);
  EXPECT_NEAR(independent.v_statistic, floor, 4 * independent.standard_error);
}

TEST(BurnInTime, IsTheFirstStepInsideTheBand) {
  const torch::Tensor step = torch::arange(400, torch::kFloat64);
  const torch::Tensor wave = torch::sin(step * 1.7);  // mean 0, sd 0.707 in every quarter
  const torch::Tensor energy =
      torch::where(step < 37, 50 - step, wave).unsqueeze(1).expand({-1, 3});
  EXPECT_EQ(burn_in_time(energy), 37);
  EXPECT_EQ(burn_in_time(wave.unsqueeze(1)), 0);
  EXPECT_TRUE(std::isnan(burn_in_time(energy.slice(0, 0, 7))));
  EXPECT_TRUE(std::isnan(burn_in_time(torch::full({400, 3}, 2.5))));
  torch::Tensor broken = energy.clone();
  broken[2][1] = NAN;
  EXPECT_TRUE(std::isnan(burn_in_time(broken)));
}

// A run that is too short enters the band of its own last quarter at 3/4 of its length, whatever
// that is.
TEST(BurnInTime, IsUndefinedWhereTheLengthOfTheRunDecidesIt) {
  for (const int64_t n : {16, 300, 1000}) {
    const torch::Tensor step = torch::arange(n, torch::kFloat64);
    EXPECT_TRUE(std::isnan(burn_in_time((-step).unsqueeze(1)))) << "linear, " << n;
    const torch::Tensor slow = torch::exp(-step / static_cast<double>(n));
    EXPECT_TRUE(std::isnan(burn_in_time(slow.unsqueeze(1)))) << "exponential, " << n;
  }
  // It has come to rest, but only in the second half; twice the steps would show this.
  const torch::Tensor step = torch::arange(800, torch::kFloat64);
  const torch::Tensor wave = torch::sin(step * 1.7);
  const torch::Tensor late = torch::where(step < 300, 900 - step, wave).unsqueeze(1);
  EXPECT_TRUE(std::isnan(burn_in_time(late.slice(0, 0, 500))));
  EXPECT_EQ(burn_in_time(late), 300);
  // Two levels: the third quarter is not where the fourth is.
  const torch::Tensor steps = torch::where(step < 600, wave + 20, wave).unsqueeze(1);
  EXPECT_TRUE(std::isnan(burn_in_time(steps)));
}

// Chains that end trapped would have a band of width 0, and the first step would count as inside
// it.
TEST(BurnInTime, IsUndefinedForChainsThatFreeze) {
  for (const int64_t frozen : {150, 250}) {
    for (const double at : {0.1, 1.0}) {  // 0.1: the mean of seven of them is rounded
      torch::Tensor energy = torch::rand({400, 7}, torch::kFloat64) + 3;
      energy.slice(0, frozen).fill_(at);
      EXPECT_TRUE(std::isnan(burn_in_time(energy))) << "from " << frozen << " at " << at;
    }
  }
}

}  // namespace
}  // namespace isinglass::diagnostics_test
