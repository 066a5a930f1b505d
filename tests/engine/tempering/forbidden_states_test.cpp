// Energies of +∞ forbid states. Chains that begin there have weight 0, and log Z by annealing and
// by tempering is that of the other states. Also tests the cost of one-site steps on such a path.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/tempering/bennett.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/lattice/ising.h"
#include "tests/engine/annealing/both_ways.h"
#include "tests/engine/invariance.h"

namespace isinglass::forbidden_states_test {
namespace {

using torch::Tensor;

constexpr double kForbidden = INFINITY;

// Independent sets of a ring, with energies −0.7, −0.6, … for each site in the set; U = +∞ if two
// neighbours are in it. Counts its evaluations.
class HardCore : public EnergyModel {
 public:
  explicit HardCore(int64_t sites) : sites_(sites) {}

  std::string kind_name() const override { return "hard core"; }
  StateSpace space() const override { return {StateKind::kBinary, sites_}; }
  bool differentiable() const override { return false; }
  Tensor energy(const Tensor& x) override {
    ++evaluations;
    const Tensor z = x.to(torch::kFloat64);
    const Tensor u = -(z * (0.7 - 0.1 * torch::arange(sites_, torch::kFloat64))).sum(1);
    return torch::where((z * z.roll(1, 1)).sum(1) > 0, torch::full_like(u, kForbidden), u);
  }

  int64_t evaluations = 0;

 private:
  int64_t sites_;
};

// The same with conditionals.
class HardCoreSites : public HardCore, public HasConditionals {
 public:
  using HardCore::HardCore;
  void conditional_differences(const Tensor& x, const Tensor& site, Tensor& out) override {
    const int64_t own = evaluations;
    const Tensor here = energy(x);
    for (int64_t k = 0; k < 2; ++k) {
      const Tensor y = x.scatter(1, site.unsqueeze(1), static_cast<double>(k));
      const Tensor moved = (y != x).any(1);
      out.select(1, k).copy_(torch::where(moved, energy(y) - here, torch::zeros_like(here)));
    }
    evaluations = own;
  }
};

template <class Model>
double log_z_of(Model& model, const reference::StateTable& table) {
  return torch::logsumexp(-model.energy(states_of(table)), 0).template item<double>();
}

TEST(ForbiddenStates, AnnealingWeighsThemNothing) {
  const reference::StateTable table(5, 2);
  HardCore plain(5);
  HardCoreSites sites(5);
  const Tensor law = torch::softmax(-plain.energy(states_of(table)), 0);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(4);
  const Tensor draws = states_of(table).index_select(
      0, torch::multinomial(law, 2000, /*replacement=*/true, generator));
  for (EnergyModel* model :
       {static_cast<EnergyModel*>(&plain), static_cast<EnergyModel*>(&sites)}) {
    for (const char* sampler : {"gibbs", "rwm", "block-gibbs"}) {
      for (const Schedule schedule : {Schedule::kLinear, Schedule::kAdaptive}) {
        SCOPED_TRACE(sampler);
        SamplerOptions options;
        if (std::string(sampler) == "block-gibbs") options.block = 2;
        const AisResult found =
            anneal(*model, options, sampler, Factorised::bernoulli(torch::full({5}, 0.3)),
                   {.chains = 2000,
                    .temperatures = 60,
                    .schedule = schedule,
                    .seed = 3,
                    .reverse = ReverseStart{.states = draws}});
        const double exact = log_z_of(plain, table);
        EXPECT_TRUE(torch::isinf(found.log_weights).any().item<bool>());
        EXPECT_NEAR(found.log_z, exact, 4 * found.log_z_se);
        EXPECT_NEAR(found.reverse->log_z_bidirectional, exact,
                    4 * found.reverse->log_z_bidirectional_se);
      }
    }
  }
}

TEST(ForbiddenStates, TemperingWeighsThemNothing) {
  const reference::StateTable table(5, 2);
  HardCore plain(5);
  HardCoreSites sites(5);
  const double exact = log_z_of(plain, table);
  for (EnergyModel* model :
       {static_cast<EnergyModel*>(&plain), static_cast<EnergyModel*>(&sites)}) {
    constexpr int64_t kScans = 4000;
    const Factorised start = Factorised::bernoulli(torch::full({5}, 0.3));
    TemperedModel path(*model, &start, torch::kCPU, TemperedModel::Form::kParts, 2);
    const ParallelTempering tempering(*model, make_sampler("gibbs", {}, path), start,
                                      {.rungs = 4, .exploration = 3, .scans = kScans});
    ChainState state =
        tempering.init(*model, torch::zeros({16, 5}, torch::kUInt8), torch::arange(16));
    StepParams params = tempering.params(3, torch::kCPU);
    for (int64_t t = 0; t < 200; ++t) tempering.burn_in_step(*model, state, params, t, 200);
    for (int64_t t = 0; t < kScans; ++t) tempering.step(*model, state, params);
    const LogZ found = tempering.report(state, params).log_z;
    EXPECT_LT(found.standard_error, 0.02);
    EXPECT_NEAR(found.value, exact, 4 * found.standard_error);
    EXPECT_TRUE(torch::isfinite(state.current.energy).all().item<bool>());
  }
}

TEST(ForbiddenStates, BennettTakesThemAsWeightsOfZero) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  Tensor delta_u = torch::randn({50, 8, 1, 2}, generator, torch::kFloat64);
  delta_u[3][2][0][0] = INFINITY;
  delta_u[4][1][0][1] = -INFINITY;
  EXPECT_TRUE(std::isfinite(log_z_of_rungs(delta_u, 0).value));
  for (const auto& [end, value] : {std::pair(0, -INFINITY), {1, INFINITY}, {0, NAN}, {1, NAN}}) {
    Tensor wrong = delta_u.clone();
    wrong[5][5][0][end] = value;
    EXPECT_TRUE(std::isnan(log_z_of_rungs(wrong, 0).value));
  }
}

// If a rung forbids all draws of the next one, these say nothing about the ratio of normalisers.
TEST(ForbiddenStates, BennettNeedsDrawsThatBothRungsAllow) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  const Tensor draws = torch::randn({50, 8, 2, 2}, generator, torch::kFloat64);
  for (const auto& [end, value] : {std::pair(0, INFINITY), {1, -INFINITY}}) {
    Tensor delta_u = draws.clone();
    delta_u.select(3, end).select(2, 1).fill_(value);
    EXPECT_TRUE(std::isnan(log_z_of_rungs(delta_u, 0).value));
    // The draws of one ensemble are enough for log Z, but not for its standard error.
    delta_u.select(3, end).select(2, 1).select(1, 3).fill_(0.5);
    const LogZ found = log_z_of_rungs(delta_u, 0);
    EXPECT_TRUE(std::isfinite(found.value));
    EXPECT_TRUE(std::isnan(found.standard_error));
  }
}

// At the ends of the path, energies are those of the two distributions.
TEST(ForbiddenStates, AreOnThePathWhatTheyAreAtItsEnds) {
  HardCore model(5);
  const Factorised start = Factorised::bernoulli(torch::full({5}, 0.3));
  TemperedModel path(model, &start, torch::kCPU);
  const Tensor x = torch::ones({1, 5}, torch::kUInt8);
  Evaluation at;
  for (const double beta : {0.0, 0.3, 0.7, 1.0}) {
    path.set_beta(beta);
    path.evaluate_energy(x, at);
    EXPECT_EQ(at.energy.item<double>(),
              beta == 0 ? start.model().energy(x).item<double>() : INFINITY);
  }
}

// One-site steps update the parts of the energy from the drawn values, without an evaluation.
TEST(SitesOnAPath, AreNotEvaluatedAnew) {
  HardCoreSites model(5);
  const Factorised start = Factorised::bernoulli(torch::full({5}, 0.3));
  TemperedModel path(model, &start, torch::kCPU);
  path.set_beta(0.6);
  const auto sampler = make_sampler("gibbs", {}, path);
  ChainState state = sampler->init(path, torch::zeros({50, 5}, torch::kUInt8), torch::arange(50));
  StepParams params = sampler->params(2, torch::kCPU);
  model.evaluations = 0;
  for (int t = 0; t < 100; ++t) sampler->step(path, state, params);
  EXPECT_EQ(model.evaluations, 0);
  EXPECT_GT(state.x.sum().item<int64_t>(), 0);
  Evaluation anew;
  path.evaluate_energy(state.x, anew);
  EXPECT_LT((state.current.energy - anew.energy).abs().max().item<double>(), 1e-12);
  EXPECT_LT((state.current.target - anew.target).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace isinglass::forbidden_states_test
