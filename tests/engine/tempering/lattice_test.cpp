// Tempered Gibbs sweeps of Ising tori: log Z against Kaufman's formula, and both signs of the
// magnetisation below the critical temperature, where every local sampler keeps the sign that it
// began with.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/run.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/reference/kaufman.h"

namespace isinglass::lattice_test {
namespace {

IsingModel torus(int side, double coupling) {
  std::vector<int64_t> ends;
  for (int64_t i = 0; i < side; ++i) {
    for (int64_t j = 0; j < side; ++j) {
      const int64_t here = i * side + j;
      ends.insert(ends.end(), {here, i * side + (j + 1) % side, here, (i + 1) % side * side + j});
    }
  }
  const torch::Tensor edges = torch::tensor(ends).view({-1, 2});
  return {edges, torch::full({edges.size(0)}, coupling, torch::kFloat64),
          torch::zeros({static_cast<int64_t>(side) * side}, torch::kFloat64)};
}

// The sign of Σ z of every chain at every draw, float64 [draws, C].
class Signs : public Observer {
 public:
  void on_draw(int64_t, const ChainState& state) override {
    const torch::Tensor up =
        state.x.to(torch::kFloat64).sum(1) / static_cast<double>(state.sites());
    signs_.push_back((2 * up - 1).sign());
  }
  bool every_step(bool) const override { return false; }
  torch::Tensor signs() const { return torch::stack(signs_); }

 private:
  std::vector<torch::Tensor> signs_;
};

struct Tempered {
  TemperingReport report;
  torch::Tensor signs;
};

// All states begin with all sites at 0.
Tempered run_torus(EnergyModel& model, TemperingOptions options, int64_t ensembles,
                   int64_t burn_in) {
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  TemperedModel path(model, &start, torch::kCPU, TemperedModel::Form::kParts, 2);
  const ParallelTempering tempering(model, make_sampler("gibbs", {.scan = Scan::kChromatic}, path),
                                    start, options);
  ChainState state =
      tempering.init(model, torch::zeros({ensembles, model.space().sites}, torch::kUInt8),
                     torch::arange(ensembles));
  StepParams params = tempering.params(5, torch::kCPU);
  Signs signs;
  run(model, tempering, state, params, {.burn_in = burn_in, .steps = options.scans}, {&signs});
  return {tempering.report(state, params), signs.signs()};
}

void expect_both_signs(const torch::Tensor& signs, double precision) {
  const torch::Tensor mean = signs.mean(0);  // mean of each ensemble
  const double error = (mean.std() / std::sqrt(mean.numel())).item<double>();
  EXPECT_LT(error, precision);
  EXPECT_NEAR(mean.mean().item<double>(), 0, 3 * error);
  EXPECT_GT((signs > 0).any(0).to(torch::kFloat64).mean().item<double>(), 0.99);
}

void expect_log_z(int side, double coupling, int64_t ensembles, int64_t scans) {
  SCOPED_TRACE(fmt::format("{0} x {0} J {1}", side, coupling));
  IsingModel model = torus(side, coupling);
  const LogZ estimate = run_torus(model, {.scans = scans}, ensembles, 500).report.log_z;
  const auto exact = static_cast<double>(reference::ising_log_z(side, side, coupling));
  EXPECT_NEAR(estimate.value, exact, 3 * estimate.standard_error);
  EXPECT_LT(estimate.standard_error, 0.1);
}

TEST(TemperedLattice, LogZIsKaufmans) {
  for (const double coupling : {0.3, 0.4407, 0.7}) expect_log_z(8, coupling, 10, 500);
}

TEST(TemperedLattice, BothSignsOfTheMagnetisation) {
  IsingModel model = torus(12, 0.6);
  const Tempered tempered = run_torus(model, {.scans = 1500}, 16, 250);
  expect_both_signs(tempered.signs, 0.1);
}

// Covers sites with more than two values, besides the energies that a model call gives.
TEST(TemperedLattice, SweepsOfPottsSitesKeepTheirEnergies) {
  const torch::Tensor edges = torch::tensor({0, 1, 1, 2, 2, 3, 3, 0}).view({4, 2});
  PottsModel model(edges, torch::full({4}, 0.8, torch::kFloat64),
                   torch::linspace(-1, 1, 12, torch::kFloat64).view({4, 3}));
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  TemperedModel path(model, &start, torch::kCPU, TemperedModel::Form::kParts, 6);
  const torch::Tensor beta = torch::linspace(0, 1, 6, torch::kFloat64);
  path.set_beta(beta);
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, path);
  ChainState state = sampler->init(path, torch::zeros({6, 4}, torch::kUInt8), torch::arange(6));
  StepParams params = sampler->params(1, torch::kCPU);
  for (int t = 0; t < 20; ++t) sampler->step(path, state, params);
  const torch::Tensor u = model.energy(state.x).to(torch::kFloat64);
  EXPECT_LT((u - state.current.target).abs().max().item<double>(), 1e-10);
  const torch::Tensor u_0 = start.model().energy(state.x).to(torch::kFloat64);
  EXPECT_LT((torch::lerp(u_0, u, beta) - state.current.energy).abs().max().item<double>(), 1e-10);
  EXPECT_GT(state.statistics.hops_sum.min().item<int64_t>(), 0);
}

TEST(TemperedLatticeLong, LogZIsKaufmans) {
  for (const double coupling : {0.3, 0.4407, 0.7}) expect_log_z(16, coupling, 10, 3000);
}

TEST(TemperedLatticeLong, BothSignsOfTheMagnetisation) {
  IsingModel model = torus(32, 0.6);
  // A replica makes 0.0037/36 round trips a scan, and each must have been on the lowest rung before
  // the common start is forgotten.
  const Tempered tempered = run_torus(model, {.scans = 30000}, 16, 15000);
  expect_both_signs(tempered.signs, 0.1);
}

}  // namespace
}  // namespace isinglass::lattice_test
