// The estimate from both ends needs a reverse path that is the time reversal of the forward path.
// Tests check this for the steps of every sampler, and for log Z with few temperatures, where a
// reverse path in forward order would give a visible bias.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/annealing/weights.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/engine/annealing/both_ways.h"
#include "tests/engine/invariance.h"
#include "tests/reference/tiny_target.h"

namespace isinglass::reversal_test {
namespace {

using torch::Tensor;

Tensor reals(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

IsingModel two_sites(double coupling, double first, double second) {
  return {torch::tensor({{0, 1}}, torch::kInt64), reals({coupling}), reals({first, second})};
}

// Returns draws from exp(−U) over all states of a table, with the Generator's seed.
Tensor draws_of(EnergyModel& model, const reference::StateTable& table, int64_t count,
                uint64_t seed) {
  const Tensor x = states_of(table);
  Evaluation all;
  model.evaluate_energy(x, all);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return x.index_select(0, torch::multinomial(torch::softmax(-all.energy, 0), count,
                                              /*replacement=*/true, generator));
}

double log_z_of(EnergyModel& model, const reference::StateTable& table) {
  return torch::logsumexp(-model.energy(states_of(table)).to(torch::kFloat64), 0).item<double>();
}

Tensor number_of(const Tensor& x, const reference::StateTable& table) {
  const Tensor place = torch::pow(table.categories, torch::arange(table.sites));
  return (x.to(torch::kInt64) * place).sum(1);
}

// Returns how often a chain with the model's law went from one state to another in `steps` steps:
// [S, S].
Tensor transitions(const Sampler& sampler, EnergyModel& model, const reference::StateTable& table,
                   int64_t steps, uint64_t seed) {
  constexpr int64_t kChains = 40000;
  const Tensor x = draws_of(model, table, kChains, seed);
  const auto states = static_cast<int64_t>(table.states.size());
  ChainState state = sampler.init(model, x, torch::arange(kChains));
  StepParams params = sampler.params(seed, torch::kCPU);
  for (int64_t t = 0; t < steps; ++t) sampler.step(model, state, params);
  const Tensor pair = number_of(x, table) * states + number_of(state.x, table);
  return torch::bincount(pair, {}, states * states).view({states, states});
}

// Expects that the forward steps 0 … n − 1 are as frequent as the time-reversed steps.
void expect_reversal(const std::string& name, const SamplerOptions& options, EnergyModel& target,
                     const Factorised& start, const reference::StateTable& table) {
  SCOPED_TRACE(name);
  TemperedModel model(target, &start, torch::kCPU);
  model.set_beta(0.8);
  const auto sampler = make_sampler(name, options, model);
  for (const int64_t steps : {1, 2}) {
    model.turn_back(false);
    const Tensor there = transitions(*sampler, model, table, steps, 5);
    model.turn_back(true);
    const auto reversed = sampler->reversed(steps - 1);
    const Tensor back =
        transitions(reversed ? *reversed : *sampler, model, table, steps, 6).transpose(0, 1);
    const Tensor sum = (there + back).to(torch::kFloat64);
    const Tensor off = (there - back).abs() / sum.sqrt();
    EXPECT_LT(off.masked_select(sum > 20).max().item<double>(), 5) << steps << " steps";
    EXPECT_GT(there.sum().item<int64_t>(), there.diagonal().sum().item<int64_t>());
  }
}

TEST(Reversal, OfEverySamplersSteps) {
  const reference::TinyTarget tiny{3, 2, 1.5};
  reference::TinyModel model(tiny);
  const reference::StateTable table(3, 2);
  const Factorised start = Factorised::bernoulli(reals({0.3, 0.5, 0.6}));
  int tried = 0;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.fits(model)) continue;
    SamplerOptions options;
    if (entry.option("radius")) options.radius = 2;
    if (entry.option("block")) options.block = 2;
    expect_reversal(entry.name, options, model, start, table);
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

TEST(Reversal, OfScansInAnOrder) {
  const Tensor edges = torch::tensor({{0, 1}, {1, 2}}, torch::kInt64);
  IsingModel ising(edges, reals({1.7, -1.1}), reals({0.9, -0.8, 0.4}));
  PottsModel potts(edges, reals({1.5, -1.0}),
                   torch::linspace(-0.8, 0.7, 9, torch::kFloat64).view({3, 3}));
  for (LatticeModel* model :
       {static_cast<LatticeModel*>(&ising), static_cast<LatticeModel*>(&potts)}) {
    const bool binary = model == &ising;
    const reference::StateTable table(3, binary ? 2 : 3);
    const Factorised uniform = Factorised::uniform(model->space(), torch::kCPU);
    for (const Scan scan : {Scan::kSystematic, Scan::kChromatic}) {
      expect_reversal("gibbs", {.scan = scan}, *model, uniform, table);
      if (!binary) continue;
      expect_reversal("gibbs", {.scan = scan}, *model,
                      Factorised::bernoulli(reals({0.3, 0.5, 0.6})), table);
    }
    if (binary) expect_reversal("metropolis", {}, *model, uniform, table);
  }
}

// Returns the log-weights of chains in the forward direction, from exact draws of the start, or in
// the reverse direction, from exact draws of the target. It follows AnnealedImportanceSampling
// without its diagnostics.
Tensor log_weights(EnergyModel& target, const Factorised& start, const Sampler& sampler,
                   int64_t temperatures, const Tensor& x, bool back) {
  const auto path = make_path(PathKind::kLinear, target, start, torch::kCPU);
  const auto forward = sampler.for_model(path->model());
  const auto reversed = back ? forward->reversed(std::max<int64_t>(temperatures - 2, 0)) : nullptr;
  const Sampler& own = reversed ? *reversed : *forward;
  path->turn_back(back);
  ChainState state = own.init(path->model(), x, torch::arange(x.size(0)) + (back ? x.size(0) : 0));
  StepParams params = own.params(3, torch::kCPU);
  const auto beta = [&](int64_t k) {
    const double there = static_cast<double>(k) / static_cast<double>(temperatures);
    return back ? 1 - there : there;
  };
  path->set_beta(beta(0), state.x, state.current);
  Tensor sum = torch::zeros_like(state.current.energy);
  for (int64_t k = 0; k < temperatures; ++k) {
    sum += path->advance(beta(k + 1), state.x, state.current);
    own.step(path->model(), state, params);
  }
  return sum;
}

// If the reverse path had the forward order, the estimate from infinitely many chains would be off
// by −0.0076, −0.0122 and −0.0074 (enumerated), which is 10 to 20 standard errors.
TEST(Reversal, FewTemperaturesFindLogZOfTwoSites) {
  constexpr int64_t kChains = 1000000;
  IsingModel model = two_sites(1.7, 0.9, -1.6);
  const reference::StateTable table(2, 2);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const Tensor there = start.sample(torch::arange(kChains), 1),
               back = draws_of(model, table, kChains, 2);
  for (const Scan scan : {Scan::kChromatic, Scan::kSystematic}) {
    const auto sampler = make_sampler("gibbs", {.scan = scan}, model);
    for (const int64_t temperatures : {2, 3, 5}) {
      if (scan == Scan::kSystematic && temperatures != 3) continue;
      SCOPED_TRACE(temperatures);
      const LogRatio both =
          acceptance_ratio(log_weights(model, start, *sampler, temperatures, there, false),
                           log_weights(model, start, *sampler, temperatures, back, true));
      EXPECT_LT(both.standard_error, 0.0008);
      EXPECT_NEAR(start.log_z() + both.value, log_z_of(model, table), 4 * both.standard_error);
    }
  }
}

// Tests the whole computation. With the wrong order the estimate would be off by 0.033, nine
// standard errors.
TEST(Reversal, AnnealingTakesTheWayBackInReverse) {
  constexpr int64_t kChains = 60000;
  IsingModel model = two_sites(2.5, 4, -0.5);
  const reference::StateTable table(2, 2);
  const AisResult found = anneal(
      model, {.scan = Scan::kChromatic}, "gibbs", Factorised::uniform(model.space(), torch::kCPU),
      {.chains = kChains,
       .temperatures = 4,
       .seed = 2,
       .reverse = ReverseStart{.states = draws_of(model, table, kChains, 4)}});
  EXPECT_LT(found.reverse->log_z_bidirectional_se, 0.004);
  EXPECT_NEAR(found.reverse->log_z_bidirectional, log_z_of(model, table),
              4 * found.reverse->log_z_bidirectional_se);
}

// U = x⁴/4 − x² + x/2, from a normal start. The momenta persist from step to step.
class DoubleWell : public EnergyModel {
 public:
  std::string kind_name() const override { return "double well"; }
  StateSpace space() const override { return {StateKind::kContinuous, 1, 0}; }
  Tensor energy(const Tensor& x) override {
    const Tensor z = x.select(1, 0).to(torch::kFloat64);
    return z.pow(4) / 4 - z.square() + z / 2;
  }
};

TEST(Reversal, OfDampedTrajectories) {
  constexpr int64_t kChains = 40000, kPoints = 60001;
  DoubleWell model;
  const Tensor grid = torch::linspace(-6, 6, kPoints, torch::kFloat64);
  const Tensor u = model.energy(grid.unsqueeze(1));
  const double log_z = torch::logsumexp(-u, 0).item<double>() + std::log(12.0 / (kPoints - 1));
  auto generator = at::make_generator<at::CPUGeneratorImpl>(8);
  const Tensor draws = grid.index_select(0, torch::multinomial(torch::softmax(-u, 0), kChains,
                                                               /*replacement=*/true, generator));
  const AisResult found =
      anneal(model, {.step_size = 0.9, .leapfrog = 2, .damping = 0.8}, "hmc",
             Factorised::normal(1, 1.5, torch::kCPU),
             {.chains = kChains,
              .temperatures = 4,
              .seed = 2,
              .reverse = ReverseStart{.states = draws.to(torch::kFloat32).unsqueeze(1)}});
  EXPECT_LT(found.acceptance, 0.95);
  EXPECT_LT(found.reverse->log_z_bidirectional_se, 0.01);
  EXPECT_NEAR(found.reverse->log_z_bidirectional, log_z, 4 * found.reverse->log_z_bidirectional_se);
}

}  // namespace
}  // namespace isinglass::reversal_test
