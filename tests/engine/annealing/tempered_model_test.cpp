// A model at inverse temperature β: its energies, tables and conditionals follow the formula, with
// one β for all chains or one per chain; U stays available; samplers leave the law at β invariant.
#include "engine/annealing/tempered_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/engine/invariance.h"
#include "tests/models/samples.h"

namespace isinglass::tempered_model_test {
namespace {

using torch::Tensor;

constexpr int64_t kSites = 4;

Tensor ring() {
  return torch::tensor({0, 1, 1, 2, 2, 3, 3, 0}, torch::kInt64).view({4, 2});
}

Tensor couplings() {
  return torch::tensor({0.7, -0.4, 0.9, 0.3}, torch::kFloat64);
}

std::shared_ptr<EnergyModel> ising() {
  return std::make_shared<IsingModel>(ring(), couplings(),
                                      torch::tensor({0.2, -0.5, 0.1, 0.4}, torch::kFloat64));
}

std::shared_ptr<EnergyModel> potts() {
  const Tensor field = torch::linspace(-0.8, 0.7, 3 * kSites, torch::kFloat64);
  return std::make_shared<PottsModel>(ring(), couplings(), field.view({kSites, 3}));
}

// Has a table of couplings for each edge.
std::shared_ptr<EnergyModel> potts_with_tables() {
  const Tensor field = torch::linspace(-0.8, 0.7, 3 * kSites, torch::kFloat64);
  const Tensor tables = torch::sin(1.7 * torch::arange(9 * kSites, torch::kFloat64));
  return std::make_shared<PottsModel>(ring(), tables.view({kSites, 3, 3}), field.view({kSites, 3}));
}

Factorised start_of(const EnergyModel& model) {
  if (model.space().one_hot()) return Factorised::uniform(model.space(), torch::kCPU);
  return Factorised::bernoulli(torch::tensor({0.2, 0.5, 0.7, 0.4}));
}

// Returns U_0 + β (U − U_0), or β U, from the energies of the parts.
Tensor expected(EnergyModel& model, const Factorised* start, const Tensor& x, const Tensor& beta) {
  const Tensor u = model.energy(x).to(torch::kFloat64);
  if (!start) return beta * u;
  const Tensor u0 = start->model().energy(x).to(torch::kFloat64);
  return u0 + beta * (u - u0);
}

void expect_close(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance);
}

// If U_0 is not uniform, sweeps of a lattice use a lattice that the host makes for every β.
TEST(Tempered, SweepsAreCapturedWhereTheLatticeStays) {
  const auto model = ising();
  const Factorised uniform = Factorised::uniform(model->space(), torch::kCPU);
  const Factorised start = start_of(*model);
  TemperedModel one(*model, &start, torch::kCPU), same(*model, &uniform, torch::kCPU),
      many(*model, &uniform, torch::kCPU, TemperedModel::Form::kParts, 3);
  const auto sweeps = make_sampler("gibbs", {.scan = Scan::kChromatic}, *model),
             gwg = make_sampler("gwg", {}, *model);
  EXPECT_FALSE(sweeps->captures(one));
  EXPECT_TRUE(sweeps->captures(same));
  EXPECT_TRUE(sweeps->captures(many));
  EXPECT_TRUE(sweeps->captures(*model));
  EXPECT_TRUE(gwg->captures(one));
}

// Covers every sample that can be annealed, also without a start and with one β per chain.
TEST(Tempered, EnergiesAndTablesAreThoseOfTheFormula) {
  int models = 0;
  for (const ModelSample& sample : model_samples()) {
    const auto model = load_sample(sample);
    const StateSpace space = model->space();
    if (space.kind != StateKind::kBinary && space.kind != StateKind::kCategorical) continue;
    SCOPED_TRACE(sample.label);
    ++models;
    const Tensor x = some_states(space, 6);
    const Factorised uniform = Factorised::uniform(space, torch::kCPU);
    for (const Factorised* start : {&uniform, static_cast<const Factorised*>(nullptr)}) {
      for (const int64_t betas : {1, 6}) {
        TemperedModel tempered(*model, start, torch::kCPU, TemperedModel::Form::kParts, betas);
        const Tensor beta = torch::linspace(0.2, 1.4, betas, torch::kFloat64);
        tempered.set_beta(beta);
        const Tensor energy = expected(*model, start, x, beta);
        const double tolerance = 1e-5 * (1 + energy.abs().max().item<double>());
        Evaluation plain, tables, differences;
        tempered.evaluate_energy(x, plain);
        expect_close(plain.energy, energy, tolerance);
        expect_close(plain.untempered(), model->energy(x).to(torch::kFloat64), tolerance);
        expect_close(tempered.energy(x), energy, tolerance);
        if (model->differentiable()) {
          tempered.evaluate(x, tables);
          expect_close(tables.energy, energy, tolerance);
          const Tensor target = model->energy_and_grad(x).gradient;
          std::vector<int64_t> shape(target.dim(), 1);
          shape[0] = betas;
          const Tensor b = beta.view(shape).to(torch::kFloat32);
          const Tensor base =
              start ? start->model().energy_and_grad(x).gradient : torch::zeros_like(target);
          expect_close(tables.gradient, base + b * (target - base), tolerance);
        }
        isinglass::evaluate_differences(tempered, x, differences);
        expect_close(differences.energy, energy, tolerance);
        expect_close(differences.untempered(), model->energy(x).to(torch::kFloat64), tolerance);
      }
    }
  }
  EXPECT_GT(models, 8);
}

// Consecutive rows belong to one chain: candidates of a block, neighbours of a site.
TEST(Tempered, BatchesOfCandidatesHaveTheirChainsBeta) {
  const auto model = ising();
  TemperedModel tempered(*model, nullptr, torch::kCPU, TemperedModel::Form::kParts, 3);
  const Tensor beta = torch::tensor({0.5, 1.0, 2.0}, torch::kFloat64);
  tempered.set_beta(beta);
  const Tensor x = some_states(model->space(), 6);
  Evaluation out;
  tempered.evaluate_energy(x, out);
  expect_close(out.energy, beta.repeat_interleave(2) * model->energy(x), 1e-12);
  Evaluation other;
  EXPECT_THROW(tempered.evaluate_energy(x.narrow(0, 0, 4), other), c10::Error);
}

// Chains at β = 0.5 and 1.5 run side by side, each with its own law.
TEST(Tempered, EveryChainMovesAtItsOwnBeta) {
  const reference::StateTable table(kSites, 2);
  constexpr int64_t kChains = 40000;
  const auto model = ising();
  Evaluation all;
  model->evaluate_energy(states_of(table), all);
  const Tensor betas = torch::tensor({0.5, 1.5}, torch::kFloat64).repeat_interleave(kChains);
  for (const char* name : {"rwm", "gibbs", "block-gibbs", "pafs", "lb", "dlp"}) {
    SCOPED_TRACE(name);
    TemperedModel tempered(*model, nullptr, torch::kCPU, TemperedModel::Form::kParts, 2 * kChains);
    tempered.set_beta(betas);
    const auto sampler = make_sampler(name, {}, tempered);
    torch::manual_seed(3);
    std::vector<Tensor> begin, law;
    for (const double beta : {0.5, 1.5}) {
      law.push_back(torch::softmax(-beta * all.energy, 0));
      begin.push_back(torch::multinomial(law.back(), kChains, /*replacement=*/true));
    }
    const Tensor x = states_of(table).index_select(0, torch::cat(begin));
    ChainState state = sampler->init(tempered, x, torch::arange(2 * kChains));
    StepParams params = sampler->params(11, torch::kCPU);
    sampler->step(tempered, state, params);
    EXPECT_FALSE(torch::equal(state.x, x));
    const Tensor place = torch::pow(2, torch::arange(kSites));
    const Tensor number = (state.x.to(torch::kInt64) * place).sum(1);
    for (int half = 0; half < 2; ++half) {
      const Tensor count =
          torch::bincount(number.narrow(0, half * kChains, kChains), {}, law[half].size(0));
      const Tensor error = (law[half] * (1 - law[half]) / kChains).sqrt();
      const Tensor off = (count.to(torch::kFloat64) / kChains - law[half]).abs() / error;
      EXPECT_LT(off.max().item<double>(), 5);
    }
  }
}

// Conditionals and, on lattices, sweeps are kept. In the parts form, U follows the chains.
TEST(Tempered, ConditionalsAndSweepsKeepTheParts) {
  for (const auto& model : {ising(), potts(), potts_with_tables()}) {
    const Factorised start = start_of(*model);
    for (const Scan scan : {Scan::kRandom, Scan::kChromatic}) {
      TemperedModel tempered(*model, &start, torch::kCPU);
      tempered.set_beta(0.6);
      const auto sampler = make_sampler("gibbs", {.scan = scan}, tempered);
      const Tensor x = some_states(model->space(), 50);
      ChainState state = sampler->init(tempered, x, torch::arange(50));
      StepParams params = sampler->params(2, torch::kCPU);
      int64_t calls = 0;
      for (int t = 0; t < 10; ++t) calls = sampler->step(tempered, state, params).evaluations;
      // From a uniform start the sweeps keep U; from another one it is evaluated after them.
      EXPECT_EQ(calls, scan == Scan::kChromatic && !start.uniform() ? 2 : 1);
      EXPECT_FALSE(torch::equal(state.x, x));
      const Tensor beta = torch::tensor(0.6, torch::kFloat64);
      expect_close(state.current.energy, expected(*model, &start, state.x, beta), 1e-12);
      expect_close(state.current.untempered(), model->energy(state.x), 1e-12);
      const Tensor slope = start.model().energy(state.x) - model->energy(state.x);
      expect_close(tempered.slope(state.current), slope, 1e-12);
    }
  }
}

TEST(Tempered, SweepsLeaveTheLawInvariant) {
  const auto model = ising();
  const Factorised start = start_of(*model);
  const reference::StateTable table(kSites, 2);
  TemperedModel tempered(*model, &start, torch::kCPU);
  tempered.set_beta(0.6);
  Evaluation all;
  tempered.evaluate_energy(states_of(table), all);
  const Tensor p = torch::softmax(-all.energy, 0);
  const std::vector<double> law(p.data_ptr<double>(), p.data_ptr<double>() + p.numel());
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, tempered);
  expect_invariant(*sampler, tempered, table, law);
}

// log Z of a lattice by annealed sweeps.
TEST(Tempered, SweepsAnnealALattice) {
  for (const auto& model : {ising(), potts(), potts_with_tables()}) {
    const StateSpace space = model->space();
    const Factorised start = start_of(*model);
    const reference::StateTable table(kSites, static_cast<int>(space.categories));
    const double log_z = torch::logsumexp(-model->energy(states_of(table)), 0).item<double>();
    const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *model);
    const AisResult found =
        AnnealedImportanceSampling(*model, *sampler, start,
                                   {.chains = 300, .temperatures = 100, .seed = 4}, torch::kCPU)
            .run();
    EXPECT_GT(found.log_z_se, 0);
    EXPECT_LT(found.log_z_se, 0.1);
    EXPECT_NEAR(found.log_z, log_z, 4 * found.log_z_se);
    EXPECT_EQ(found.energy_evaluations, 1 + (start.uniform() ? 1 : 2) * 100);
  }
}

// In the lattice form there are local steps, and U once the evaluation is up to date.
TEST(Tempered, ALatticeOfOneBetaIsALattice) {
  const auto model = ising();
  TemperedModel cooled(*model, nullptr, torch::kCPU, TemperedModel::Form::kLattice);
  ASSERT_NE(cooled.as_lattice(), nullptr);
  const Tensor x = some_states(model->space(), 7);
  for (const double beta : {0.25, 3.0}) {
    cooled.set_beta(beta);
    Evaluation out;
    cooled.evaluate(x, out);
    expect_close(out.energy, beta * model->energy(x), 1e-12);
    cooled.flush_energy(x, out);
    expect_close(out.untempered(), model->energy(x), 1e-12);
  }
  const Factorised start = start_of(*model);
  TemperedModel annealed(*model, &start, torch::kCPU, TemperedModel::Form::kLattice);
  EXPECT_EQ(annealed.as_lattice(), nullptr);
  TemperedModel rungs(*model, nullptr, torch::kCPU, TemperedModel::Form::kLattice, 5);
  EXPECT_EQ(rungs.as_lattice(), nullptr);
  EXPECT_NE(rungs.sweeps(), nullptr);  // with one β per chain and a constant U_0
  EXPECT_NE(rungs.conditionals(), nullptr);
  TemperedModel unequal(*model, &start, torch::kCPU, TemperedModel::Form::kParts, 5);
  EXPECT_EQ(unequal.sweeps(), nullptr);
}

}  // namespace
}  // namespace isinglass::tempered_model_test
