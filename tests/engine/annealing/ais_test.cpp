// Annealed importance sampling against exact normalisers, its schedules, and resumption.
#include "engine/annealing/ais.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "models/network/rbm.h"
#include "tests/reference/enumeration.h"
#include "tests/reference/tiny_target.h"
#include "tests/support/scratch.h"

namespace isinglass::ais_test {
namespace {

// 4×5 Ising lattice, open boundary, by enumeration of 2^20 states in plain double arithmetic.
struct Lattice {
  static constexpr int kRows = 4, kColumns = 5, kSites = kRows * kColumns;
  std::vector<std::pair<int, int>> edges;
  std::vector<double> coupling, field;

  Lattice() {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kColumns; ++c) {
        const int site = r * kColumns + c;
        if (c + 1 < kColumns) edges.emplace_back(site, site + 1);
        if (r + 1 < kRows) edges.emplace_back(site, site + kColumns);
        field.push_back(0.5 * std::sin(1.7 * site + 0.2));
      }
    }
    for (size_t e = 0; e < edges.size(); ++e) coupling.push_back(0.4 + 0.2 * std::cos(2.3 * e));
  }

  double log_z() const {
    double sum = 0;
    for (int state = 0; state < 1 << kSites; ++state) {
      double log_p = 0;
      for (int i = 0; i < kSites; ++i) log_p += field[i] * (state >> i & 1 ? 1 : -1);
      for (size_t e = 0; e < edges.size(); ++e) {
        const int a = state >> edges[e].first & 1, b = state >> edges[e].second & 1;
        log_p += coupling[e] * (a == b ? 1 : -1);
      }
      sum += std::exp(log_p - 10);
    }
    return std::log(sum) + 10;
  }

  IsingModel model() const {
    torch::Tensor pairs = torch::empty({static_cast<int64_t>(edges.size()), 2}, torch::kInt64);
    for (size_t e = 0; e < edges.size(); ++e) {
      pairs[e][0] = edges[e].first;
      pairs[e][1] = edges[e].second;
    }
    return IsingModel(pairs, torch::tensor(coupling, torch::kFloat64),
                      torch::tensor(field, torch::kFloat64));
  }
};

void expect_log_z(const AisResult& result, double exact) {
  EXPECT_TRUE(result.finished);
  EXPECT_LT(result.log_z_se, 0.1);
  EXPECT_GT(result.log_z_se, 0);
  EXPECT_NEAR(result.log_z, exact, 3 * result.log_z_se);
  EXPECT_GT(result.weight_ess, 1);
}

AisResult anneal(EnergyModel& model, const std::string& name, const Factorised& start,
                 const AisOptions& options, std::optional<double> radius = {}) {
  const auto sampler = make_sampler(name, {.radius = radius}, model);
  AnnealedImportanceSampling ais(model, *sampler, start, options, torch::kCPU);
  return ais.run();
}

TEST(AisIsing, FourByFiveLattice) {
  const Lattice lattice;
  const double exact = lattice.log_z();
  IsingModel model = lattice.model();
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  for (const char* sampler : {"gibbs", "rwm", "gwg", "pafs", "lb", "pas"}) {
    SCOPED_TRACE(sampler);
    const AisResult result = anneal(
        model, sampler, start, {.chains = 200, .temperatures = 1000, .seed = 3, .curve = {100}});
    expect_log_z(result, exact);
    ASSERT_EQ(result.curve.size(), 2u);
    EXPECT_EQ(result.curve[0].temperatures, 100);
    EXPECT_EQ(result.curve[1].log_z, result.log_z);
  }
}

TEST(AisIsing, EverySchedule) {
  const Lattice lattice;
  IsingModel model = lattice.model();
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  for (const Schedule schedule : {Schedule::kLinear, Schedule::kSigmoid, Schedule::kAdaptive}) {
    expect_log_z(anneal(model, "gibbs", start,
                        {.chains = 200, .temperatures = 1000, .schedule = schedule, .seed = 4}),
                 lattice.log_z());
  }
}

TEST(AisGpu, CapturedStepsGiveTheSameWeights) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  IsingModel model = Lattice().model();
  model.to(torch::kCUDA);
  const Factorised start = Factorised::uniform(model.space(), torch::kCUDA);
  for (const auto& [name, scan] : {std::pair("gibbs", Scan::kRandom),
                                   {"gwg", Scan::kRandom},
                                   {"lb", Scan::kRandom},
                                   {"gibbs", Scan::kChromatic}}) {
    const auto sampler = make_sampler(name, {.scan = scan}, model);
    const auto weights = [&](bool cuda_graph) {
      const AisOptions options{
          .chains = 50, .temperatures = 100, .seed = 3, .curve = {20}, .cuda_graph = cuda_graph};
      return AnnealedImportanceSampling(model, *sampler, start, options, torch::kCUDA)
          .run()
          .log_weights;
    };
    EXPECT_TRUE(torch::equal(weights(true), weights(false))) << name;
  }
}

// RBM with 12 hidden and 784 visible units: exact by enumeration of the hidden states.
TEST(AisRbm, TwelveHidden) {
  const int64_t hidden = 12, visible = 784;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
  const torch::Tensor w = 0.08 * torch::randn({hidden, visible}, generator);
  const torch::Tensor b_v = -1 + 0.5 * torch::randn({visible}, generator);
  const torch::Tensor b_h = 0.3 * torch::randn({hidden}, generator);
  const torch::Tensor states = torch::arange(1 << hidden)
                                   .unsqueeze(1)
                                   .bitwise_right_shift(torch::arange(hidden))
                                   .bitwise_and(1);
  const torch::Tensor h = states.to(torch::kFloat64);
  const torch::Tensor log_p =
      h.matmul(b_h.to(torch::kFloat64)) +
      torch::softplus(h.matmul(w.to(torch::kFloat64)) + b_v.to(torch::kFloat64)).sum(1);
  const double exact = torch::logsumexp(log_p, 0).item<double>();
  RbmModel model(w, b_v, b_h);
  const Factorised start = Factorised::bernoulli(torch::sigmoid(b_v));
  expect_log_z(anneal(model, "pafs", start, {.chains = 100, .temperatures = 1000, .seed = 1}),
               exact);
}

TEST(AisModelCalls, OneAStep) {
  reference::TinyModel model(reference::TinyTarget{4, 2, 1.0});
  const auto sampler = make_sampler("pafs", {.radius = 2}, model);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  AnnealedImportanceSampling ais(model, *sampler, start, {.chains = 8, .temperatures = 50},
                                 torch::kCPU);
  const AisResult result = ais.run();
  EXPECT_EQ(model.calls, 51);  // and one at the initial states
  EXPECT_EQ(result.energy_evaluations, 51);
}

// The evaluations at the starts of all runs are counted; with differences there is a call for each
// neighbour.
TEST(AisModelCalls, AreAllCounted) {
  for (const char* name : {"rwm", "gibbs", "pafs", "lb"}) {
    reference::TinyModel model(reference::TinyTarget{4, 2, 1.0});
    const AisResult result =
        anneal(model, name, Factorised::uniform(model.space(), torch::kCPU),
               {.chains = 8, .temperatures = 50, .schedule = Schedule::kAdaptive, .curve = {10}});
    // lb needs the energy and, in one call of the model, those of the four neighbours.
    const bool neighbours = std::string(name) == "lb";
    EXPECT_EQ(result.energy_evaluations, neighbours ? model.calls / 2 * 5 : model.calls) << name;
  }
}

// Every run has chains of its own. Checkpoints give the first chains of each run, with which a
// restored object begins it.
TEST(AisChains, EveryRunHasItsOwn) {
  IsingModel model = Lattice().model();
  const auto sampler = make_sampler("gwg", {}, model);
  const Factorised start = Factorised::bernoulli(torch::full({Lattice::kSites}, 0.5));
  for (const int64_t chains : {1, 20}) {
    AnnealedImportanceSampling ais(model, *sampler, start,
                                   {.chains = chains,
                                    .temperatures = 6,
                                    .schedule = Schedule::kAdaptive,
                                    .seed = 9,
                                    .curve = {2, 3}},
                                   torch::kCPU);
    const int64_t begins[] = {0, 20, 22, 25};  // the pilot, the curve, the estimate
    std::vector<torch::Tensor> states;
    AisResult result;
    for (const int64_t begin : begins) {
      result = ais.run({}, [&] { return ais.steps_done() == begin; });
      ASSERT_FALSE(result.finished);
      for (const auto& [key, value] : ais.checkpoint()) {
        if (key == "x") states.push_back(std::get<torch::Tensor>(value.value).clone());
      }
    }
    EXPECT_EQ(states[0].size(0), std::max<int64_t>(chains, 16));
    for (size_t i = 1; i < states.size(); ++i) EXPECT_EQ(states[i].size(0), chains);
    // Chains with one key and different ids have different states: there are 2^20 states and at
    // most 80 chains.
    const torch::Tensor all = torch::cat(states).to(torch::kInt64);
    const torch::Tensor code = all.matmul(torch::pow(2, torch::arange(Lattice::kSites)));
    EXPECT_EQ(std::get<0>(at::_unique(code)).numel(), code.numel());
  }
}

TEST(AisChains, OneAloneHasNoStandardError) {
  const Lattice lattice;
  IsingModel model = lattice.model();
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  for (const Schedule schedule : {Schedule::kLinear, Schedule::kAdaptive}) {
    const AisResult result =
        anneal(model, "gibbs", start,
               {.chains = 1, .temperatures = 1000, .schedule = schedule, .seed = 4});
    EXPECT_TRUE(result.finished);
    EXPECT_TRUE(std::isfinite(result.log_z));
    EXPECT_TRUE(std::isnan(result.log_z_se));
    EXPECT_EQ(result.weight_ess, 1);
  }
}

TEST(AisExact, TinyTargetsBinaryAndCategorical) {
  for (const int categories : {2, 3}) {
    const reference::TinyTarget tiny{4, categories, 1.5};
    double z = 0;
    for (const auto& x : reference::StateTable(4, categories).states)
      z += std::exp(-tiny.energy(x));
    for (const char* sampler : {"rwm", "gibbs", "gwg", "pafs", "lb", "pas"}) {
      SCOPED_TRACE(sampler);
      reference::TinyModel model(tiny);
      const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
      const bool reads_radius = find_sampler(sampler).option("radius") != nullptr;
      expect_log_z(anneal(model, sampler, start, {.chains = 300, .temperatures = 1000, .seed = 6},
                          reads_radius ? std::optional(2.0) : std::nullopt),
                   std::log(z));
    }
  }
}

// An annealed step costs as much as the model's own for the moved sites: the hidden inputs are in
// the cache.
TEST(AnnealedRbm, MovesItsHiddenInputs) {
  torch::manual_seed(5);
  RbmModel model(torch::randn({40, 70}), torch::randn({70}), torch::randn({40}));
  const Factorised start = Factorised::bernoulli(torch::full({70}, 0.3));
  const torch::Tensor x = torch::randint(2, {6, 70}, torch::kUInt8);
  torch::Tensor y = x.clone();
  for (const int64_t site : {2, 33, 69}) y.select(1, site).bitwise_xor_(1);
  for (const bool gradient : {false, true}) {
    TemperedModel annealed(model, &start, torch::kCPU);
    const auto evaluate = [&](const torch::Tensor& at, Evaluation& out) {
      gradient ? annealed.evaluate(at, out) : annealed.evaluate_energy(at, out);
    };
    Evaluation at_x, moved, expected;
    evaluate(x, at_x);
    annealed.set_beta(0.3);
    annealed.recombine(at_x);
    annealed.evaluate_moved(x, at_x, y, gradient, moved);
    evaluate(y, expected);
    ASSERT_EQ(moved.cache.size(), expected.cache.size());
    EXPECT_EQ(moved.cache.back().sizes(), (std::vector<int64_t>{6, 40}));
    for (size_t i = 0; i < moved.cache.size(); ++i) {
      EXPECT_TRUE(torch::allclose(moved.cache[i], expected.cache[i], 1e-6, 1e-6)) << i;
    }
    EXPECT_TRUE(torch::allclose(moved.energy, expected.energy, 1e-12, 1e-9));
    EXPECT_EQ(moved.gradient.defined(), gradient);
    if (gradient) {
      EXPECT_TRUE(torch::allclose(moved.gradient, expected.gradient, 1e-5, 1e-5));
    }
    // The result is written into an evaluation that had other parts.
    annealed.evaluate_moved(x, at_x, y, !gradient, moved);
    EXPECT_TRUE(torch::allclose(moved.energy, expected.energy, 1e-12, 1e-9));
    EXPECT_EQ(moved.gradient.defined(), !gradient);
    EXPECT_EQ(moved.cache.size(), gradient ? 3u : 4u);
    EXPECT_EQ(moved.cache.back().sizes(), (std::vector<int64_t>{6, 40}));
  }
}

TEST(AisResume, ContinuesBitForBit) {
  for (const Schedule schedule : {Schedule::kLinear, Schedule::kAdaptive}) {
    for (const int stop_after : {1, 17, 60, 99}) {
      const Lattice lattice;
      IsingModel model = lattice.model();
      const auto sampler = make_sampler("gwg", {}, model);
      const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
      const AisOptions options{
          .chains = 10, .temperatures = 80, .schedule = schedule, .seed = 9, .curve = {20}};
      AnnealedImportanceSampling whole(model, *sampler, start, options, torch::kCPU);
      const AisResult expected = whole.run();
      AnnealedImportanceSampling first(model, *sampler, start, options, torch::kCPU);
      EXPECT_FALSE(first.run({}, [&] { return first.steps_done() == stop_after; }).finished);
      AnnealedImportanceSampling second(model, *sampler, start, options, torch::kCPU);
      second.restore(first.checkpoint());
      const AisResult resumed = second.run();
      EXPECT_EQ(resumed.log_z, expected.log_z);
      EXPECT_EQ(resumed.curve[0].log_z, expected.curve[0].log_z);
      EXPECT_EQ(resumed.acceptance, expected.acceptance);
      EXPECT_TRUE(torch::equal(resumed.x, expected.x));
      EXPECT_TRUE(torch::equal(resumed.log_weights, expected.log_weights));

      AnnealedImportanceSampling other(model, *sampler, start, {.chains = 11, .temperatures = 80},
                                       torch::kCPU);
      EXPECT_THROW(other.restore(first.checkpoint()), Error);
    }
  }
}

// Chains of one model with weights of another estimate nothing.
TEST(AisResume, RefusesOtherWeightsSamplersAndStarts) {
  Lattice lattice;
  IsingModel model = lattice.model();
  lattice.field[2] += 1e-3;
  IsingModel other = lattice.model();
  const auto sampler = make_sampler("pafs", {.radius = 2}, model);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const Factorised mean = Factorised::bernoulli(torch::full({model.space().sites}, 0.4));
  const AisOptions options{.chains = 4, .temperatures = 30, .seed = 9};
  const auto stopped = [&](EnergyModel& of, const Sampler& by, const Factorised& from) {
    AnnealedImportanceSampling annealing(of, by, from, options, torch::kCPU);
    EXPECT_FALSE(annealing.run({}, [&] { return annealing.steps_done() == 10; }).finished);
    return annealing.checkpoint();
  };
  const auto restore = [&](EnergyModel& of, const Sampler& by, const Factorised& from,
                           const PtDict& checkpoint) {
    AnnealedImportanceSampling(of, by, from, options, torch::kCPU).restore(checkpoint);
  };
  const PtDict saved = stopped(model, *sampler, start);
  EXPECT_NO_THROW(restore(model, *sampler, start, saved));
  EXPECT_ERROR(restore(other, *sampler, start, saved), "with other parameters");
  EXPECT_ERROR(restore(model, *sampler, start, stopped(other, *sampler, start)),
               "with other parameters");
  EXPECT_ERROR(restore(model, *make_sampler("gwg", {}, model), start, saved),
               "sampler = pafs; this one has gwg");
  EXPECT_ERROR(
      restore(model, *make_sampler("pafs", {.radius = 3}, model), start, saved),
      "sampler_options = radius = 2, adapt = false, balancing = sqrt; this one has radius = 3, ");
  EXPECT_ERROR(restore(model, *sampler, mean, saved), "with other start");
  EXPECT_ERROR(restore(model, *sampler, start, stopped(model, *sampler, mean)), "with other start");
  // The last bits of its logarithms do not count, because they depend on the processor.
  const torch::Tensor means = torch::full({4}, 0.3f), rounded = means.to(torch::kFloat64) + 1e-12;
  EXPECT_EQ(Factorised::bernoulli(means).sha256(), Factorised::bernoulli(rounded).sha256());

  PtDict old = saved;
  old.at(0).second = PtValue{int64_t{1}};
  EXPECT_ERROR(restore(model, *sampler, start, old), "format 1");
}

TEST(AisSchedule, RunsFromZeroToOneWithoutTurning) {
  Pilot pilot{.beta = {}, .variance = std::vector<double>(40, 1.0)};
  pilot.variance[3] = 100;
  pilot.variance[5] = -2;  // negative by noise
  for (int k = 0; k <= 40; ++k) pilot.beta.push_back(std::pow(k / 40.0, 2));
  for (const Schedule schedule : {Schedule::kLinear, Schedule::kSigmoid, Schedule::kAdaptive}) {
    for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{1000}}) {
      const std::vector<double> beta = annealing_schedule(schedule, n, pilot);
      ASSERT_EQ(static_cast<int64_t>(beta.size()), n + 1);
      EXPECT_EQ(beta.front(), 0);
      EXPECT_EQ(beta.back(), 1);
      for (int64_t k = 0; k < n; ++k) EXPECT_LE(beta[k], beta[k + 1]);
    }
  }
}

// If the pilot's intervals have equal lengths, the schedule is unchanged. An interval that is three
// times as long gets three times as many temperatures.
TEST(AisSchedule, FollowsThePilot) {
  Pilot pilot{.beta = {0, 0.1, 0.3, 1}, .variance = {4, 4, 4}};
  const std::vector<double> even = annealing_schedule(Schedule::kAdaptive, 6, pilot);
  const double expected[] = {0, 0.05, 0.1, 0.2, 0.3, 0.65, 1};
  for (size_t k = 0; k < even.size(); ++k) EXPECT_NEAR(even[k], expected[k], 1e-12) << k;
  pilot.variance = {1, 9, 1};
  const std::vector<double> uneven = annealing_schedule(Schedule::kAdaptive, 1000, pilot);
  const auto inside =
      std::count_if(uneven.begin(), uneven.end(), [](double b) { return b > 0.1 && b <= 0.3; });
  // A tenth of the mean length, 5/3, is added to each.
  EXPECT_NEAR(static_cast<double>(inside), 1000 * (3 + 1 / 6.0) / (5 + 3 / 6.0), 2);
}

}  // namespace
}  // namespace isinglass::ais_test
