// Burn-in of any-scale samplers: W is learned by least squares and (σ, α) by the search for long
// jumps. Both are frozen afterwards, and a sampler that has learned them is still exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/adaptation/curvature.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/samplers/any_scale.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "models/registry.h"
#include "tests/engine/transitions.h"
#include "tests/reference/any_scale.h"

namespace isinglass::any_scale_learning_test {
namespace {

using reference::OrderedModel;
using reference::OrderedTarget;

torch::Tensor random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  return torch::randn({rows, columns}, torch::make_generator<at::CPUGeneratorImpl>(seed),
                      torch::kFloat64);
}

// Pairs that follow a curvature exactly recover it, up to the ridge.
TEST(Curvature, RecoversAQuadraticTarget) {
  const torch::Tensor r = random_matrix(6, 6, 1), w = r + r.t();
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(2);
  CurvatureEstimate estimate(6, torch::kCPU);
  for (int step = 0; step < 20; ++step) {
    const torch::Tensor x = torch::randint(0, 5, {8, 6}, generator, torch::kUInt8);
    const torch::Tensor y = torch::randint(0, 5, {8, 6}, generator, torch::kUInt8);
    const auto gradient = [&](const torch::Tensor& v) {
      return (-v.to(torch::kFloat64).mm(w)).to(torch::kFloat32);
    };
    estimate.add(x, y, gradient(x), gradient(y));
  }
  const torch::Tensor found = estimate.solve();
  EXPECT_TRUE(torch::equal(found, found.t()));
  EXPECT_LT((found - w).abs().max().item<double>(), 1e-4);
}

// With noise, the solution is where the gradient of the penalised sum over symmetric matrices
// vanishes.
TEST(Curvature, SolvesTheNormalEquations) {
  const int64_t n = 300, sites = 5;
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(4);
  const torch::Tensor x = torch::randint(0, 4, {n, sites}, generator, torch::kUInt8);
  const torch::Tensor y = torch::randint(0, 4, {n, sites}, generator, torch::kUInt8);
  const torch::Tensor from = random_matrix(n, sites, 5).to(torch::kFloat32);
  const torch::Tensor to = random_matrix(n, sites, 6).to(torch::kFloat32);
  CurvatureEstimate estimate(sites, torch::kCPU);
  estimate.add(x, y, from, to);
  const torch::Tensor w = estimate.solve();
  const torch::Tensor move = y.to(torch::kFloat64) - x.to(torch::kFloat64);
  const torch::Tensor score = from.to(torch::kFloat64) - to.to(torch::kFloat64);
  const double ridge = 1e-6 * move.pow(2).sum().item<double>() / sites;
  const torch::Tensor slope = 2 * move.t().mm(move.mm(w) - score) + 2 * ridge * w;
  EXPECT_LT((slope + slope.t()).abs().max().item<double>(), 1e-9);
}

TEST(Curvature, NothingFromChainsThatStandStill) {
  CurvatureEstimate estimate(3, torch::kCPU);
  const torch::Tensor x = torch::ones({4, 3}, torch::kUInt8), g = torch::ones({4, 3});
  estimate.add(x, x, g, g);
  EXPECT_FALSE(estimate.solve().defined());
}

std::shared_ptr<IsingModel> square_lattice(int64_t side, double coupling) {
  std::vector<int64_t> ends;
  for (int64_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) ends.insert(ends.end(), {i, i + 1});
    if (i + side < side * side) ends.insert(ends.end(), {i, i + side});
  }
  const auto edges = static_cast<int64_t>(ends.size()) / 2;
  return std::make_shared<IsingModel>(torch::tensor(ends, torch::kInt64).view({edges, 2}),
                                      torch::full({edges}, coupling, torch::kFloat64),
                                      torch::zeros({side * side}, torch::kFloat64));
}

// In x ∈ {0, 1} the lattice's ∇² log π is 4J between neighbours: learned from its moves.
TEST(AnyScaleBurnIn, LearnsTheLattice) {
  const int64_t side = 5, chains = 16;
  const double coupling = 0.2;
  const auto model = square_lattice(side, coupling);
  const torch::Tensor ids = torch::arange(chains);
  for (const char* name : {"ab-shift", "ab-max", "ab-trace"}) {
    SCOPED_TRACE(name);
    const auto sampler = make_sampler(name, {}, *model);
    ChainState state =
        sampler->init(*model, random_states(model->space(), ids, 0, torch::kCPU), ids);
    StepParams params = sampler->params(6, torch::kCPU);
    EXPECT_TRUE(sampler->warmup()->learned(state).empty());
    for (int64_t t = 0; t < 3000; ++t) {
      ASSERT_TRUE(t > 1500 || sampler->warmup()->learned(state).empty());
      sampler->warmup()->burn_in_step(*model, state, params, t, 3000);
    }
    const NamedTensors learned = sampler->warmup()->learned(state);
    ASSERT_EQ(learned.size(), 2u);
    const torch::Tensor w = learned[0].second;
    EXPECT_NEAR(w[0][1].item<double>(), 4 * coupling, 1e-3);
    EXPECT_NEAR(w[0][side].item<double>(), 4 * coupling, 1e-3);
    EXPECT_NEAR(w[0][0].item<double>(), 0, 1e-3);
    EXPECT_NEAR(w[0][2].item<double>(), 0, 1e-3);

    const torch::Tensor scale = params.scale.clone();
    EXPECT_GT(scale[0].item<double>(), 0.1);
    for (int t = 0; t < 20; ++t) sampler->step(*model, state, params);
    EXPECT_TRUE(torch::equal(params.scale, scale));

    // A sampler restored in another run makes the same steps.
    ChainState again = sampler->init(*model, state.x, ids);
    sampler->warmup()->restore(again, learned);
    StepParams same = sampler->params(6, torch::kCPU, params.step());
    same.scale.copy_(params.scale);
    for (int t = 0; t < 10; ++t) {
      sampler->step(*model, state, params);
      sampler->step(*model, again, same);
    }
    EXPECT_TRUE(torch::equal(state.x, again.x));
  }
}

TEST(AnyScaleBurnIn, GivenScalesStayFixed) {
  const auto model = square_lattice(3, 0.2);
  const torch::Tensor ids = torch::arange(4);
  const auto sampler = make_sampler("ab-trace", {.sigma = 0.7, .alpha = 0.6}, *model);
  ChainState state = sampler->init(*model, random_states(model->space(), ids, 0, torch::kCPU), ids);
  StepParams params = sampler->params(6, torch::kCPU);
  for (int64_t t = 0; t < 1400; ++t) {
    sampler->warmup()->burn_in_step(*model, state, params, t, 1400);
    EXPECT_EQ(params.scale[0].item<double>(), 0.7);
    EXPECT_EQ(params.scale[1].item<double>(), 0.6);
  }
  EXPECT_EQ(sampler->warmup()->learned(state).size(), 2u);
  EXPECT_THROW(make_sampler("ab-trace", {.sigma = 0.7}, *model), Error);
}

TEST(AnyScaleBurnIn, RestoreRefusesWhatDoesNotFit) {
  const auto model = square_lattice(3, 0.2);
  const torch::Tensor ids = torch::arange(4), x = torch::zeros({4, 9}, torch::kUInt8);
  const torch::Tensor w = torch::zeros({9, 9}, torch::kFloat64), d = torch::ones({9}, w.options());
  const auto sampler = make_sampler("ab-trace", {}, *model);
  ChainState state = sampler->init(*model, x, ids);
  sampler->warmup()->restore(state, {});
  EXPECT_THROW(sampler->warmup()->restore(state, {{"curvature", w}}), Error);
  EXPECT_THROW(sampler->warmup()->restore(state, {{"curvature", w}, {"other", d}}), Error);
  EXPECT_THROW(
      sampler->warmup()->restore(state, {{"curvature", w}, {"diagonal", d.narrow(0, 0, 8)}}),
      Error);
  EXPECT_THROW(sampler->warmup()->restore(state, {{"curvature", w}, {"diagonal", -d}}), Error);
  sampler->warmup()->restore(state, {{"curvature", w}, {"diagonal", d}});
  const auto first = make_sampler("ab-1st", {}, *model);
  ChainState without = first->init(*model, x, ids);
  EXPECT_THROW(first->warmup()->restore(without, {{"curvature", w}, {"diagonal", d}}), Error);
}

// With the parameters that burn-in has learned, chains that start distributed as π stay so, at a
// scale at which they move far.
TEST(AnyScaleBurnIn, ChainsKeepTheTarget) {
  const OrderedTarget tiny{3, 3, 1.0};
  OrderedModel model(tiny);
  const reference::Target target = tiny.enumerate();
  const std::vector<double> pi = target.probabilities();
  const int64_t chains = 20000;
  const torch::Tensor from = torch::multinomial(torch::tensor(pi, torch::kFloat64), chains, true,
                                                torch::make_generator<at::CPUGeneratorImpl>(17));
  const torch::Tensor x = states_tensor(target, 1).index_select(0, from);
  for (const char* name : {"ab-1st", "ab-trace"}) {
    SCOPED_TRACE(name);
    const auto sampler = make_sampler(name, {}, model);
    ChainState few = sampler->init(model, torch::zeros({64, 3}, torch::kUInt8), torch::arange(64));
    StepParams params = sampler->params(9, torch::kCPU);
    for (int64_t t = 0; t < 1200; ++t) sampler->warmup()->burn_in_step(model, few, params, t, 1200);
    params.scale.copy_(torch::tensor({1.5, 0.8}, torch::kFloat64));
    ChainState state = sampler->init(model, x, torch::arange(chains));
    sampler->warmup()->restore(state, sampler->warmup()->learned(few));
    for (int t = 0; t < 40; ++t) sampler->step(model, state, params);
    EXPECT_GT(state.statistics.acceptance.mean().item<double>(), 0.1);
    const torch::Tensor count =
        torch::bincount(state_index(state.x, 3), {}, static_cast<int64_t>(pi.size()));
    double worst = 0;
    for (size_t s = 0; s < pi.size(); ++s) {
      const double n = static_cast<double>(chains), expected = n * pi[s];
      const double se = std::sqrt(std::max(1.0, expected * (1 - pi[s])));
      worst = std::max(worst, std::abs(count[s].item<double>() - expected) / se);
    }
    EXPECT_LT(worst, 5);
  }
}

// The variant of deep models: (σ, α) adapt, W stays.
TEST(AnyScaleDiagonal, IsCheckedAndKept) {
  const torch::Tensor w = curvature_of_variances(torch::tensor({0.25, 0.0, 3.0}));
  EXPECT_NEAR(w[0].item<double>(), -0.8, 1e-7);
  EXPECT_NEAR(w[1].item<double>(), -1, 1e-7);
  OrderedModel model({3, 2, 1.0});
  const torch::Tensor x = torch::zeros({4, 3}, torch::kUInt8);
  EXPECT_THROW(AnyScaleSampler({.diagonal_curvature = -w}), Error);
  EXPECT_THROW(AnyScaleSampler({.rule = DiagonalRule::kTrace, .diagonal_curvature = w}), Error);
  const AnyScaleSampler misfit({.diagonal_curvature = w.narrow(0, 0, 2)});
  EXPECT_THROW(misfit.init(model, x, torch::arange(4)), Error);
  const AnyScaleSampler sampler({.diagonal_curvature = w});
  ChainState state = sampler.init(model, x, torch::arange(4));
  StepParams params = sampler.params(2, torch::kCPU);
  for (int64_t t = 0; t < 1200; ++t) sampler.burn_in_step(model, state, params, t, 1200);
  EXPECT_NE(params.scale[0].item<double>(), 0.1);
  EXPECT_TRUE(sampler.learned(state).empty());
}

// Selected by name, the diagonal has the variances m(1 − m) of a network's base distribution, or
// else those of uniform values.
TEST(AnyScaleDiagonal, KnowsTheVariancesOfAModelsBase) {
  const torch::Tensor mean = torch::tensor({0.5, 0.9, 0.1, 0.3, 0.7, 0.2});
  const auto base = new_model(
      "resnet", {.image_height = 2, .image_width = 3, .channels = 2, .base_mean = mean}, 1);
  const auto none = new_model("resnet", {.image_height = 2, .image_width = 3, .channels = 2}, 1);
  const std::pair<EnergyModel*, torch::Tensor> cases[] = {{base.get(), mean * (1 - mean)},
                                                          {none.get(), torch::full({6}, 0.25)}};
  for (const auto& [model, variances] : cases) {
    const AnyScaleSampler direct({.diagonal_curvature = curvature_of_variances(variances),
                                  .sigma = 2,
                                  .alpha = 0.5,
                                  .search = false});
    const auto named = make_sampler("ab-variance", {.sigma = 2, .alpha = 0.5}, *model);
    const auto states = [&, model = model](const Sampler& sampler) {
      ChainState state =
          sampler.init(*model, torch::zeros({64, 6}, torch::kUInt8), torch::arange(64));
      StepParams params = sampler.params(3, torch::kCPU);
      for (int t = 0; t < 20; ++t) sampler.step(*model, state, params);
      return state.x;
    };
    EXPECT_GT(states(direct).sum().item<int64_t>(), 0);
    EXPECT_TRUE(torch::equal(states(*named), states(direct)));
  }
}

}  // namespace
}  // namespace isinglass::any_scale_learning_test
