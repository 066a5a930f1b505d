// Every sampler on the Ising model on a 10 × 10 torus at its critical point, against Kaufman's
// exact energy and specific heat, within four standard errors by effective sample size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/diagnostics/ess.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "models/lattice/ising.h"
#include "tests/reference/kaufman.h"

namespace isinglass::critical_ising_test {
namespace {

constexpr int kSide = 10;
const double kCritical = 0.5 * std::log(1 + std::sqrt(2.0));

torch::Tensor torus_edges(int height, int width) {
  std::vector<int64_t> ends;
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      const int64_t here = i * width + j;
      for (const int64_t next : {i * width + (j + 1) % width, (i + 1) % height * width + j}) {
        ends.push_back(here);
        ends.push_back(next);
      }
    }
  }
  return torch::tensor(ends, torch::kInt64).view({-1, 2});
}

IsingModel torus(int height, int width, double coupling) {
  const torch::Tensor edges = torus_edges(height, width);
  return IsingModel(edges, torch::full({edges.size(0)}, coupling, torch::kFloat64),
                    torch::zeros({height * width}, torch::kFloat64));
}

// Kaufman's formula against all states of small tori.
TEST(Kaufman, EqualsEnumeration) {
  for (const auto& [height, width] : {std::pair{3, 3}, {3, 4}, {4, 4}}) {
    for (const double k : {0.2, kCritical, 0.8}) {
      SCOPED_TRACE(fmt::format("{} x {} K {}", height, width, k));
      const int64_t sites = height * width;
      const torch::Tensor index = torch::arange(int64_t{1} << sites).unsqueeze(1);
      const torch::Tensor x =
          index.bitwise_right_shift(torch::arange(sites)).bitwise_and(1).to(torch::kUInt8);
      Evaluation all;
      torus(height, width, k).evaluate_energy(x, all);
      const double log_z = torch::logsumexp(-all.energy, 0).item<double>();
      const torch::Tensor p = torch::exp(-all.energy - log_z);
      const double mean = (p * all.energy).sum().item<double>();
      const double variance = (p * (all.energy - mean).square()).sum().item<double>();
      EXPECT_NEAR(static_cast<double>(reference::ising_log_z(height, width, k)), log_z, 1e-10);
      const auto exact = reference::ising_moments(height, width, k);
      EXPECT_NEAR(exact.mean, mean, 1e-6 * std::abs(mean));
      EXPECT_NEAR(exact.variance, variance, 1e-5 * variance);
    }
  }
}

struct Energies : Observer {
  std::vector<torch::Tensor> kept;
  void on_draw(int64_t, const ChainState& state) override {
    kept.push_back(state.current.energy.clone());
  }
};

// Within four standard errors, by the effective sample size of all chains.
void expect_mean(const torch::Tensor& series, double exact, const char* what) {
  const double ess = tfp_ess(series).sum().item<double>();
  const double se = std::sqrt(series.var().item<double>() / ess);
  EXPECT_GT(ess, 400) << what;
  EXPECT_NEAR(series.mean().item<double>(), exact, 4 * se) << what << ", ESS " << ess;
}

void check_moments(const std::string& name, const SamplerOptions& options, int64_t thin) {
  SCOPED_TRACE(name);
  IsingModel model = torus(kSide, kSide, kCritical);
  const auto sampler = make_sampler(name, options, model);
  ASSERT_TRUE(sampler->exact()) << name << " leaves another distribution invariant";
  const torch::Tensor ids = torch::arange(32);
  ChainState state = sampler->init(model, random_states(model.space(), ids, 1, torch::kCPU), ids);
  StepParams params = sampler->params(2024, torch::kCPU);
  Energies energies;
  const int64_t draws = 2000;
  run(model, *sampler, state, params, {300 * thin, draws * thin, thin}, {&energies});
  const torch::Tensor u = torch::stack(energies.kept);
  const auto exact = reference::ising_moments(kSide, kSide, kCritical);
  expect_mean(u, exact.mean, "energy");
  expect_mean((u - exact.mean).square(), exact.variance, "specific heat");
}

// Returns the steps between draws: a sweep for the samplers that move one site; others move more.
int64_t thin_of(const std::string& name) {
  const std::vector<std::string> one_site = {"rwm",   "gibbs", "gwg",    "lb",
                                             "lsb-1", "lsb-2", "flsb-1", "flsb-2"};
  return std::find(one_site.begin(), one_site.end(), name) != one_site.end() ? 100 : 25;
}

std::vector<std::string> names_that_fit() {
  std::vector<std::string> names;
  const IsingModel model = torus(kSide, kSide, kCritical);
  for (const SamplerEntry& entry : sampler_registry()) {
    if (entry.fits(model)) names.push_back(entry.name);
  }
  return names;
}

class CriticalIsingLong : public testing::TestWithParam<std::string> {};

TEST_P(CriticalIsingLong, EnergyAndSpecificHeatAreExact) {
  SamplerOptions options;
  // At τ = 1, forward Euler moves nine of ten sites at a random start and is always rejected.
  if (GetParam() == "lbjf") options.tau = 0.1;
  if (GetParam() == "cluster-gibbs") options.group = 8;  // divides the chains
  check_moments(GetParam(), options, thin_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Registry, CriticalIsingLong, testing::ValuesIn(names_that_fit()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(CriticalIsingScansLong, EnergyAndSpecificHeatAreExact) {
  check_moments("gibbs", {.scan = Scan::kSystematic}, 100);
  check_moments("gibbs", {.scan = Scan::kChromatic}, 1);
}

}  // namespace
}  // namespace isinglass::critical_ising_test
