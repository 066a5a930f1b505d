// Simulated annealing: at every temperature of the schedule a step leaves exp(−U/T) invariant, and
// observers see U.
#include "engine/annealing/cooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/observers/best_solution.h"
#include "engine/registry.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "io/files.h"
#include "models/lattice/ising.h"
#include "models/registry.h"
#include "tests/engine/invariance.h"
#include "tests/support/scratch.h"

namespace isinglass::cooling_test {
namespace {

constexpr int64_t kSites = 4;
const reference::StateTable kTable(kSites, 2);

std::shared_ptr<EnergyModel> ising() {
  return std::make_shared<IsingModel>(
      torch::tensor({0, 1, 1, 2, 2, 3, 3, 0}, torch::kInt64).view({4, 2}),
      torch::tensor({0.7, -0.4, 0.9, 0.3}, torch::kFloat64),
      torch::tensor({0.2, -0.5, 0.1, 0.4}, torch::kFloat64));
}

// U by the formula.
double energy_of(const reference::State& x) {
  const double coupling[] = {0.7, -0.4, 0.9, 0.3}, field[] = {0.2, -0.5, 0.1, 0.4};
  const auto z = [&](int64_t i) { return x[i % kSites] == 1 ? 1 : -1; };
  double u = 0;
  for (int64_t i = 0; i < kSites; ++i) u -= field[i] * z(i) + coupling[i] * z(i) * z(i + 1);
  return u;
}

// From 3 to 0.5 in five steps by the factor 6^(−1/4).
constexpr Temperatures kTemperatures{3, 0.5};
constexpr int64_t kSteps = 5;
double temperature_at(int64_t t) {
  return 3 / std::pow(6.0, static_cast<double>(t) / 4);
}

// The target as a lattice, and as a model without that interface.
class PlainModel : public EnergyModel {
 public:
  explicit PlainModel(std::shared_ptr<EnergyModel> own) : own_(std::move(own)) {}
  std::string kind_name() const override { return "plain"; }
  StateSpace space() const override { return own_->space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return own_->energy(x); }

 private:
  std::shared_ptr<EnergyModel> own_;
};

int64_t cool(Cooling& cooling, int64_t t, const Sampler& sampler, ChainState& state) {
  StepParams params = sampler.params(0, torch::kCPU);
  return cooling.before_step(t, sampler, state, params);
}

class CoolingOf : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<EnergyModel> target =
      GetParam() ? ising() : std::make_shared<PlainModel>(ising());
};

INSTANTIATE_TEST_SUITE_P(Models, CoolingOf, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "lattice" : "other");
});

TEST_P(CoolingOf, AStepLeavesTheLawOfItsTemperature) {
  for (const char* name : {"rwm", "gibbs", "block-gibbs", "gwg", "pafs", "lb", "pas", "lbj", "dlp",
                           "ab-1st", "lsb-1"}) {
    for (const int64_t t : {int64_t{0}, int64_t{2}, kSteps - 1}) {
      SCOPED_TRACE(fmt::format("{} at step {}", name, t));
      const std::vector<double> law = law_of(
          kTable, [&](const reference::State& x) { return energy_of(x) / temperature_at(t); });
      Cooling cooling(*target, kTemperatures, kSteps, torch::kCPU);
      const auto sampler = make_sampler(name, {}, cooling.model());
      expect_invariant(*sampler, cooling.model(), kTable, law,
                       [&](ChainState& state) { cool(cooling, t, *sampler, state); });
    }
  }
}

class EnergiesSeen : public Observer {
 public:
  void on_step(int64_t, bool burn_in, const ChainState& state) override { see(state); }
  void on_draw(int64_t, const ChainState& state) override { see(state); }
  int seen = 0;

 private:
  void see(const ChainState& state) {
    for (int64_t b = 0; b < state.chains(); ++b) {
      reference::State x;
      for (int64_t i = 0; i < kSites; ++i) x.push_back(state.x[b][i].item<int>());
      EXPECT_NEAR(state.current.untempered()[b].item<double>(), energy_of(x), 1e-12);
    }
    ++seen;
  }
};

TEST_P(CoolingOf, ARunCoolsInBurnInAndObserversSeeTheModelsEnergy) {
  Cooling cooling(*target, kTemperatures, kSteps, torch::kCPU);
  const auto sampler = make_sampler("pafs", {}, cooling.model());
  ChainState state = sampler->init(cooling.model(), states_of(kTable), torch::arange(1 << kSites));
  StepParams params = sampler->params(3, torch::kCPU);
  EnergiesSeen energies;
  run(cooling.model(), *sampler, state, params, {.burn_in = kSteps, .steps = 3, .hook = &cooling},
      {&energies});
  EXPECT_EQ(energies.seen, kSteps + 3 + 3);
  Evaluation plain;
  target->evaluate_energy(state.x, plain);
  EXPECT_TRUE(torch::allclose(state.current.energy, plain.energy / kTemperatures.last, 1e-12));
}

TEST_P(CoolingOf, OneStepIsAtTheLastTemperature) {
  Cooling cooling(*target, kTemperatures, /*steps=*/1, torch::kCPU);
  const auto sampler = make_sampler("pafs", {}, cooling.model());
  ChainState state = sampler->init(cooling.model(), states_of(kTable), torch::arange(1 << kSites));
  EXPECT_EQ(cool(cooling, 0, *sampler, state), StepHook::kForever);
  EXPECT_EQ(cooling.temperature(), kTemperatures.last);
  Evaluation plain;
  target->evaluate_energy(state.x, plain);
  EXPECT_TRUE(torch::allclose(state.current.energy, plain.energy / kTemperatures.last, 1e-12));
}

// The GPU computes the lattice when β changes.
TEST(CoolingGpu, LatticesCool) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const auto model = ising();
  model->to(torch::kCUDA);
  for (const char* name : {"gibbs", "gwg", "pafs", "lbj", "dlp"}) {
    SCOPED_TRACE(name);
    Cooling cooling(*model, kTemperatures, kSteps, torch::kCUDA);
    const auto sampler = make_sampler(name, {}, cooling.model());
    ChainState state = sampler->init(cooling.model(), states_of(kTable).to(torch::kCUDA),
                                     torch::arange(1 << kSites));
    StepParams params = sampler->params(3, torch::kCUDA);
    run(cooling.model(), *sampler, state, params, {.burn_in = kSteps, .steps = 3, .hook = &cooling},
        {});
    const torch::Tensor u = ising()->energy(state.x.cpu());
    EXPECT_TRUE(torch::allclose(state.current.energy.cpu(), u / kTemperatures.last, 1e-10));
  }
}

// At a later level, the sums that local steps keep equal those of a new start, so that the chains
// are the same.
TEST(Cooling, LocalStepsKeepTheSumsOfTheirTemperature) {
  const auto target = ising();
  for (const char* name : {"pafs", "nb", "lb", "pas"}) {
    SCOPED_TRACE(name);
    SamplerOptions options;
    if (std::string(name) != "lb") options.radius = 2;
    const auto states = [&](bool from_the_start) {
      Cooling cooling(*target, kTemperatures, kSteps, torch::kCPU);
      const auto sampler = make_sampler(name, options, cooling.model());
      const auto begin = [&] {
        return sampler->init(cooling.model(), states_of(kTable), torch::arange(1 << kSites));
      };
      ChainState state = begin();
      StepParams params = sampler->params(5, torch::kCPU);
      cool(cooling, from_the_start ? 0 : kSteps - 1, *sampler, state);
      cool(cooling, kSteps - 1, *sampler, state);
      if (!from_the_start) state = begin();
      for (int t = 0; t < 20; ++t) sampler->step(cooling.model(), state, params);
      return state.x;
    };
    EXPECT_TRUE(torch::equal(states(true), states(false)));
  }
}

// 250 steps have 100 levels, of 2 or 3 steps; each level is announced at its first step.
TEST(Cooling, IsAskedAgainWhenTheTemperatureChanges) {
  constexpr int64_t kMany = 250;
  const auto target = ising();
  Cooling steady(*target, kTemperatures, kMany, torch::kCPU);
  Cooling asked(*target, kTemperatures, kMany, torch::kCPU);
  const auto sampler = make_sampler("gibbs", {}, asked.model());
  ChainState state = sampler->init(asked.model(), states_of(kTable), torch::arange(1 << kSites));
  int64_t next = 0, changes = 0;
  for (int64_t t = 0; t < kMany; ++t) {
    cool(steady, t, *sampler, state);
    if (t == next) {
      const int64_t still = cool(asked, t, *sampler, state);
      next = still == StepHook::kForever ? kMany : t + still;
      ++changes;
    }
    EXPECT_EQ(asked.temperature(), steady.temperature()) << t;
  }
  EXPECT_EQ(changes, 100);
  EXPECT_EQ(asked.temperature(), kTemperatures.last);
}

// A star: its centre is a maximal independent set of one vertex, its five rays are the maximum.
TEST(BestSolution, IsTheBestFeasibleStateOfAllSteps) {
  const Scratch scratch;
  write_file(scratch / "star.txt", "0 1\n0 2\n0 3\n0 4\n0 5\n");
  const auto model = load_model("mis", {.weights = scratch / "star.txt", .penalty = 0.1});
  auto& problem = dynamic_cast<GraphProblem&>(*model);
  BestSolution best(problem);
  const auto show = [&](const torch::Tensor& x) {
    ChainState state;
    state.x = x.to(torch::kUInt8);
    model->evaluate_energy(state.x, state.current);
    state.chain_ids = torch::arange(10, 10 + x.size(0));
    best.on_step(0, true, state);
  };
  EXPECT_FALSE(best.found());
  // The first chain has the least energy; all three are infeasible.
  show(torch::tensor({{1, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}}));
  EXPECT_FALSE(best.found());
  show(torch::tensor({{1, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 0, 0}, {1, 1, 1, 1, 1, 0}}));
  EXPECT_EQ(best.value(), 2);
  EXPECT_EQ(best.step(), 2);
  EXPECT_EQ(best.chain(), 11);
  show(torch::tensor({{0, 0, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1}, {1, 0, 0, 0, 0, 0}}));  // no better
  EXPECT_EQ(best.step(), 2);
  EXPECT_TRUE(torch::equal(best.state(), torch::tensor({{0, 1, 0, 1, 0, 0}}).to(torch::kUInt8)));
  show(torch::tensor({{1, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 1, 1}, {1, 0, 0, 0, 0, 0}}));
  EXPECT_EQ(best.value(), 5);
  EXPECT_EQ(best.step(), 4);
}

// Counts the chains that reach the least energy of an Ising model, and the steps after which they
// do so first. States whose energies differ by less than rounding count as the same.
TEST(BestSolution, CountsTheChainsThatReachTheBest) {
  const auto model = ising();
  std::vector<double> energies;
  for (const reference::State& x : kTable.states) energies.push_back(energy_of(x));
  const auto least = std::min_element(energies.begin(), energies.end()) - energies.begin();
  const auto most = std::max_element(energies.begin(), energies.end()) - energies.begin();
  const torch::Tensor all = states_of(kTable);
  for (const int64_t together : {1, 3, 64}) {
    BestSolution best(*model, Ranks::single_process(), together);
    const auto show = [&](const std::vector<int64_t>& rows, double dust) {
      ChainState state;
      state.x = all.index_select(0, torch::tensor(rows));
      model->evaluate_energy(state.x, state.current);
      state.current.energy[1] += dust;
      state.chain_ids = torch::arange(4, 7);
      best.on_step(0, true, state);
    };
    show({most, most, most}, 0);
    show({least, most, most}, 0);
    show({most, least, most}, -1e-14);
    show({least, least, most}, 0);
    best.on_end();
    EXPECT_TRUE(best.minimises());
    EXPECT_NEAR(best.value(), -energies[static_cast<size_t>(least)], 1e-15);
    EXPECT_EQ(best.step(), 2);
    EXPECT_EQ(best.chain(), 4);
    const BestSolution::Reached reached = best.reached(best.value());
    EXPECT_EQ(reached.chains, 2);
    EXPECT_EQ(reached.mean_step, 2.5);
    EXPECT_EQ(best.reached(best.value() + 0.01).chains, 0);
    EXPECT_TRUE(std::isnan(best.reached(best.value() + 0.01).mean_step));
    EXPECT_TRUE(torch::equal(best.state(), all.narrow(0, least, 1)));
    BestSolution restored(*model, Ranks::single_process(), together);
    restored.restore(best.saved(), {.first = 0, .count = 3});
    EXPECT_EQ(restored.value(), best.value());
    EXPECT_TRUE(torch::equal(restored.state(), best.state()));
  }
}

// A chain counts only for the best feasible state, whatever its energy is.
TEST(BestSolution, CountsFeasibleStatesOnly) {
  const Scratch scratch;
  write_file(scratch / "star.txt", "0 1\n0 2\n0 3\n");
  const auto model = load_model("mis", {.weights = scratch / "star.txt", .penalty = 0.1});
  BestSolution best(*model);
  ChainState state;
  state.chain_ids = torch::arange(3);
  const auto show = [&](const torch::Tensor& x) {
    state.x = x.to(torch::kUInt8);
    model->evaluate_energy(state.x, state.current);
    best.on_step(0, false, state);
  };
  show(torch::tensor({{1, 1, 1, 1}, {0, 1, 1, 1}, {0, 1, 1, 0}}));
  show(torch::tensor({{1, 1, 1, 1}, {0, 0, 0, 0}, {0, 1, 1, 1}}));
  best.on_end();
  EXPECT_EQ(best.value(), 3);
  EXPECT_FALSE(best.minimises());
  EXPECT_EQ(best.reached(3).chains, 2);
  EXPECT_EQ(best.reached(3).mean_step, 1.5);
}

// Observing several steps together gives the same result as observing each step.
TEST(BestSolution, IsTheSameOfStepsTogether) {
  const Scratch scratch;
  write_file(scratch / "star.txt", "0 1\n0 2\n0 3\n0 4\n0 5\n5 6\n6 7\n7 8\n");
  const auto model = load_model("mis", {.weights = scratch / "star.txt", .penalty = 0.3});
  auto& problem = dynamic_cast<GraphProblem&>(*model);
  BestSolution single(problem, Ranks::single_process(), 1),
      some(problem, Ranks::single_process(), 7), all(problem, Ranks::single_process(), 64);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(2);
  ChainState state;
  state.chain_ids = torch::arange(3, 8);
  for (int64_t t = 0; t < 50; ++t) {
    const double share = 0.2 + 0.01 * static_cast<double>(t);  // better ones later
    state.x = (torch::rand({5, 9}, generator) < share).to(torch::kUInt8);
    model->evaluate_energy(state.x, state.current);
    for (BestSolution* best : {&single, &some, &all}) best->on_step(t, false, state);
  }
  for (BestSolution* best : {&single, &some, &all}) best->on_end();
  ASSERT_TRUE(single.found());
  EXPECT_GT(single.step(), 1);
  for (const BestSolution* best : {&some, &all}) {
    EXPECT_EQ(best->value(), single.value());
    EXPECT_EQ(best->step(), single.step());
    EXPECT_EQ(best->chain(), single.chain());
    EXPECT_TRUE(torch::equal(best->state(), single.state()));
  }
}

}  // namespace
}  // namespace isinglass::cooling_test
