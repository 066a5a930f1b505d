// Steps on a lattice that update only the neighbours of the moved sites
// (kernels/path/fast/lattice_path.h), or look up the distributions for their neighbourhoods
// (kernels/jump/fast/lattice_jump.h), against the dense kernels: the same chains, draw for draw.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "kernels/ops/path.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/engine/samplers/dense_model.h"
#include "tests/support/scratch.h"

namespace isinglass::local_step_test {
namespace {

torch::Tensor grid_edges(int64_t n, bool periodic) {
  const torch::Tensor site = torch::arange(n * n).view({n, n});
  std::vector<torch::Tensor> edges;
  for (const int64_t axis : {0, 1}) {
    const int64_t count = periodic ? n : n - 1;
    edges.push_back(torch::stack({site.narrow(axis, 0, count).reshape(-1),
                                  site.roll({-1}, {axis}).narrow(axis, 0, count).reshape(-1)},
                                 1));
  }
  return torch::cat(edges);
}

// `count` distinct pairs of the sites.
torch::Tensor random_edges(int64_t sites, int64_t count) {
  const torch::Tensor pairs = torch::triu_indices(sites, sites, 1).t();
  return pairs.index_select(0, torch::randperm(pairs.size(0)).narrow(0, 0, count));
}

struct Target {
  std::string name;
  std::shared_ptr<LatticeModel> model;
};

std::shared_ptr<LatticeModel> ising(const torch::Tensor& edges, int64_t sites, double field) {
  return std::make_shared<IsingModel>(edges, 0.6 * torch::randn({edges.size(0)}, torch::kFloat64),
                                      field * torch::randn({sites}, torch::kFloat64));
}

std::shared_ptr<LatticeModel> potts(const torch::Tensor& edges, int64_t sites, int64_t values) {
  return std::make_shared<PottsModel>(edges, 0.6 * torch::randn({edges.size(0)}, torch::kFloat64),
                                      torch::randn({sites, values}, torch::kFloat64));
}

std::shared_ptr<LatticeModel> potts_with_tables(const torch::Tensor& edges, int64_t sites,
                                                int64_t values) {
  const torch::Tensor tables = 0.6 * torch::randn({edges.size(0), values, values}, torch::kFloat64);
  return std::make_shared<PottsModel>(edges, tables,
                                      torch::randn({sites, values}, torch::kFloat64));
}

std::vector<Target> targets() {
  torch::manual_seed(11);
  return {{"ising 3x3", ising(grid_edges(3, false), 9, 1)},
          {"ising 12x12 periodic", ising(grid_edges(12, true), 144, 0.3)},
          {"ising random graph", ising(random_edges(70, 150), 70, 1)},
          {"strong fields", ising(random_edges(40, 60), 40, 60)},  // exp(log weight) overflows
          {"no edges", ising(torch::empty({0, 2}, torch::kInt64), 33, 1)},
          {"potts 9x9", potts(grid_edges(9, false), 81, 3)},
          {"potts random graph", potts(random_edges(70, 150), 70, 5)},
          {"potts with tables", potts_with_tables(random_edges(70, 150), 70, 5)},
          {"two values with tables", potts_with_tables(random_edges(40, 60), 40, 2)},
          {"many neighbours", ising(random_edges(300, 3000), 300, 1)}};
}

struct Chains {
  ChainState state;
  StepParams params;
};

Chains start(EnergyModel& model, const Sampler& sampler, uint64_t seed,
             torch::Device device = torch::kCPU) {
  const torch::Tensor ids = torch::arange(7, 7 + 8);
  return {sampler.init(model, random_states(model.space(), ids, seed, device), ids),
          sampler.params(seed, device)};
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  EXPECT_TRUE(torch::allclose(a, b, 1e-9, 1e-9));
}

// Both make the same `steps` steps.
void expect_alike(LatticeModel& model, const std::string& name, const SamplerOptions& options,
                  uint64_t seed, int64_t steps, torch::Device device = torch::kCPU) {
  DenseModel dense(model);
  const auto sampler = make_sampler(name, options, model);
  const auto general = make_sampler(name, options, dense);
  Chains local = start(model, *sampler, seed, device), full = start(dense, *general, seed, device);
  for (int64_t t = 0; t < steps; ++t) {
    const auto info = sampler->step(model, local.state, local.params);
    EXPECT_EQ(info.evaluations, general->step(dense, full.state, full.params).evaluations);
    const Evaluation &a = local.state.current, &b = full.state.current;
    ASSERT_TRUE(torch::equal(local.state.x, full.state.x)) << "step " << t;
    if (a.gradient.defined()) {
      ASSERT_TRUE(torch::equal(a.gradient, b.gradient)) << "step " << t;
    }
    if (a.differences.defined()) {
      ASSERT_TRUE(torch::equal(a.differences, b.differences)) << "step " << t;
    }
    expect_close(a.energy, b.energy);
    expect_close(local.state.statistics.acceptance, full.state.statistics.acceptance);
    ASSERT_TRUE(torch::equal(local.state.statistics.hops, full.state.statistics.hops));
  }
  const ops::StepBuffers &a = local.state.statistics, &b = full.state.statistics;
  EXPECT_TRUE(torch::equal(a.hops_sum, b.hops_sum));
  EXPECT_TRUE(torch::equal(a.non_finite, b.non_finite));
  EXPECT_EQ(local.params.step(), steps);
  EXPECT_GT(a.hops_sum.sum().item<int64_t>(), 0);
}

TEST(LocalStep, PathsAreThoseOfTheDenseKernels) {
  for (const Target& target : targets()) {
    for (const std::string name : {"gwg", "pafs", "nb", "lb", "pas"}) {
      for (const double radius : {1.0, 5.0}) {
        if (name == "lb" && radius > 1) continue;
        for (const Balancing g :
             {Balancing::kSqrt, Balancing::kBarker, Balancing::kMin, Balancing::kMax}) {
          SCOPED_TRACE(fmt::format("{} {} R {} g {}", target.name, name, radius, int(g)));
          for (const uint64_t seed : {1, 2}) {
            SamplerOptions options;
            options.balancing = g;
            if (name != "lb") options.radius = radius;
            expect_alike(*target.model, name, options, seed, 200);
          }
        }
      }
    }
  }
}

// The dense kernels are used where evaluating all sites is faster.
TEST(LocalStep, IsNotTakenOnDenseGraphs) {
  torch::manual_seed(12);
  const int64_t sites = 20, pairs = sites * (sites - 1) / 2;
  for (const int64_t edges : {pairs / 4, pairs}) {
    const auto model = ising(random_edges(sites, edges), sites, 1);
    for (const std::string name : {"pafs", "pas"}) {
      SCOPED_TRACE(fmt::format("{} of {} edges, {}", edges, pairs, name));
      const auto sampler = make_sampler(name, {.radius = 3}, *model);
      EXPECT_EQ(sampler->caches_weights() == nullptr, edges == pairs);
      expect_alike(*model, name, {.radius = 3}, 1, 100);
    }
  }
}

// Sites of two values that count as categories keep no fields, so that a path of exact differences
// on a graph of many neighbours is faster by dense kernels.
TEST(LocalStep, TwoCategoriesKeepNoFields) {
  torch::manual_seed(14);
  const auto model = potts(random_edges(100, 2000), 100, 2);
  ASSERT_TRUE(model->lattice(torch::kCPU).exact_sums);
  for (const std::string name : {"pafs", "pas"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(make_sampler(name, {.radius = 5}, *model)->caches_weights(), nullptr);
    expect_alike(*model, name, {.radius = 5}, 1, 50);
  }
}

// The kept fields of a lattice with many neighbours follow states that something else has changed.
TEST(LocalStep, KeptFieldsFollowReplacedStates) {
  torch::manual_seed(13);
  const auto model = ising(random_edges(300, 3000), 300, 1);
  ASSERT_TRUE(ops::LatticePaths::keeps_fields(model->lattice(torch::kCPU), false));
  for (const std::string name : {"gwg", "pafs", "lb", "pas"}) {
    SCOPED_TRACE(name);
    DenseModel dense(*model);
    const auto sampler = make_sampler(name, {}, *model), general = make_sampler(name, {}, dense);
    ASSERT_NE(sampler->caches_weights(), nullptr);
    Chains local = start(*model, *sampler, 3), full = start(dense, *general, 3);
    for (int64_t t = 0; t < 60; ++t) {
      if (t % 20 == 10) {  // the first chain takes the state of the last
        for (Chains* chains : {&local, &full}) chains->state.x[0].copy_(chains->state.x[7]);
        sampler->reevaluate(*model, local.state);
        general->reevaluate(dense, full.state);
      }
      sampler->step(*model, local.state, local.params);
      general->step(dense, full.state, full.params);
      ASSERT_TRUE(torch::equal(local.state.x, full.state.x)) << "step " << t;
    }
    EXPECT_TRUE(torch::allclose(local.state.current.energy, full.state.current.energy, 1e-9, 1e-9));
  }
}

// Neighbourhood patterns are used for sites with at most four neighbours, and dense kernels
// elsewhere.
TEST(LocalStep, JumpsAreThoseOfTheDenseKernels) {
  int64_t local = 0;
  for (const Target& target : targets()) {
    for (const std::string name : {"lbj", "lbjf", "lbjb", "dlp"}) {
      for (const Balancing g :
           {Balancing::kSqrt, Balancing::kBarker, Balancing::kMin, Balancing::kMax}) {
        if (name == "dlp" && g != Balancing::kSqrt) continue;  // reads none
        const bool langevin = name == "dlp";
        for (const double scale : {langevin ? 0.2 : 0.02, langevin ? 0.5 : 0.1}) {
          SCOPED_TRACE(fmt::format("{} {} scale {} g {}", target.name, name, scale, int(g)));
          SamplerOptions options;
          options.balancing = g;
          (langevin ? options.step_size : options.tau) = scale;
          expect_alike(*target.model, name, options, 1, 100);
          local += target.model->neighbourhoods() != nullptr;
        }
      }
    }
    SCOPED_TRACE(target.name);
    expect_alike(*target.model, "dlp", {.step_size = 0.1, .unadjusted = true}, 2, 50);
  }
  EXPECT_GT(local, 0);
}

// A sampler of a lattice refuses a model that hides its graph. Made anew for that model, it makes
// the same chains.
TEST(LocalStep, BelongsToTheModelThatItWasMadeFor) {
  const Target target = targets()[1];
  DenseModel dense(*target.model);
  for (const std::string name : {"gibbs", "block-gibbs", "pafs", "pas", "lbj"}) {
    SCOPED_TRACE(name);
    const auto sampler = make_sampler(name, {}, *target.model);
    EXPECT_ERROR(start(dense, *sampler, 1), name + " was made for another model");
    const auto general = sampler->for_model(dense), again = general->for_model(*target.model);
    EXPECT_EQ(general->name(), name);
    Chains local = start(*target.model, *again, 1), full = start(dense, *general, 1);
    for (int64_t t = 0; t < 20; ++t) {
      again->step(*target.model, local.state, local.params);
      general->step(dense, full.state, full.params);
    }
    EXPECT_TRUE(torch::equal(local.state.x, full.state.x));
  }
}

// The thresholds follow the scale.
TEST(LocalStep, AdaptedJumpsAreThoseOfTheDenseKernels) {
  constexpr int64_t kSteps = 200;
  const Target target = targets()[1];
  DenseModel dense(*target.model);
  const SamplerOptions options = {.tau = 1, .target_acceptance = 0.574, .adapt = true};
  const auto sampler = make_sampler("lbj", options, *target.model);
  const auto general = make_sampler("lbj", options, dense);
  Chains local = start(*target.model, *sampler, 3), full = start(dense, *general, 3);
  for (int64_t t = 0; t < kSteps; ++t) {
    sampler->warmup()->burn_in_step(*target.model, local.state, local.params, t, kSteps);
    general->warmup()->burn_in_step(dense, full.state, full.params, t, kSteps);
    ASSERT_TRUE(torch::equal(local.state.x, full.state.x)) << "step " << t;
  }
  EXPECT_NE(local.params.scale.item<double>(), 1);
  EXPECT_TRUE(torch::allclose(local.params.scale, full.params.scale, 1e-9));
}

TEST(LocalStepGpu, PathsAreThoseOfTheDenseKernels) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const Target& target : targets()) {
    target.model->to(torch::kCUDA);
    for (const std::string name : {"gwg", "pafs", "nb", "lb", "pas"}) {
      SCOPED_TRACE(fmt::format("{} {}", target.name, name));
      SamplerOptions options;
      if (name != "lb") options.radius = 3;
      expect_alike(*target.model, name, options, 1, 100, torch::kCUDA);
    }
  }
}

TEST(LocalStepGpu, JumpsAreThoseOfTheDenseKernels) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const Target& target : targets()) {
    target.model->to(torch::kCUDA);
    for (const std::string name : {"lbj", "lbjf", "lbjb", "dlp"}) {
      SCOPED_TRACE(fmt::format("{} {}", target.name, name));
      SamplerOptions options;
      (name == "dlp" ? options.step_size : options.tau) = name == "dlp" ? 0.2 : 0.05;
      expect_alike(*target.model, name, options, 1, 100, torch::kCUDA);
    }
  }
}

// Energies stay correct at the steps at which U is evaluated anew, and long after.
TEST(LocalStep, EnergiesStayTrue) {
  const Target target = targets()[1];
  const auto sampler = make_sampler("pafs", {.radius = 2}, *target.model);
  Chains chains = start(*target.model, *sampler, 4);
  for (int64_t t = 0; t < 20000; ++t) sampler->step(*target.model, chains.state, chains.params);
  Evaluation again;
  target.model->evaluate(chains.state.x, again);
  EXPECT_TRUE(torch::allclose(chains.state.current.energy, again.energy, 1e-13, 0));
  EXPECT_TRUE(torch::equal(chains.state.current.gradient, again.gradient));
}

}  // namespace
}  // namespace isinglass::local_step_test
