// Population annealing: numbers of copies against the weights, and the law of a large population
// between two temperatures against enumeration.
#include "engine/annealing/population.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/cooling.h"
#include "engine/registry.h"
#include "models/lattice/ising.h"
#include "tests/engine/invariance.h"

namespace isinglass::population_test {
namespace {

using torch::Tensor;

Tensor rng_of(int64_t seed, int64_t step) {
  return torch::tensor({seed, step}, torch::kInt64);
}

// Returns how many chains continue each chain.
Tensor copies(const Tensor& log_weight, int64_t group, int64_t step) {
  const Tensor from =
      resampled_chains(log_weight, group, rng_of(7, step), torch::arange(log_weight.size(0)) + 3);
  const Tensor counts = torch::bincount(from, {}, log_weight.size(0));
  // A chain that is continued keeps its place, and groups do not mix.
  const Tensor own = torch::arange(log_weight.size(0));
  EXPECT_TRUE(((counts == 0) | (from == own)).all().item<bool>());
  EXPECT_TRUE((from.floor_divide(group) == own.floor_divide(group)).all().item<bool>());
  return counts;
}

TEST(Population, NumbersOfCopiesHaveTheirMeansAndDifferFromThemByLessThanOne) {
  constexpr int64_t kGroup = 5, kSteps = 4000;
  const Tensor log_weight =
      torch::tensor({0.0, -1.0, 0.7, -3.0, 0.2, 500.0, 499.0, 498.5, 0.0, -1e300}, torch::kFloat64);
  const Tensor mean = kGroup * torch::softmax(log_weight.view({2, kGroup}), 1).view({-1});
  Tensor sum = torch::zeros({2 * kGroup}, torch::kFloat64);
  double product = 0;  // of the deviations of two chains of different groups
  for (int64_t step = 0; step < kSteps; ++step) {
    const Tensor counts = copies(log_weight, kGroup, step).to(torch::kFloat64);
    EXPECT_LT((counts - mean).abs().max().item<double>(), 1);
    sum += counts;
    product += ((counts[2] - mean[2]) * (counts[5] - mean[5])).item<double>();
  }
  const Tensor part = mean - mean.floor();
  const Tensor error = (part * (1 - part) / kSteps).sqrt();
  EXPECT_LT(((sum / kSteps - mean).abs() - 5 * error).max().item<double>(), 1e-12);
  // The groups have their own random numbers.
  EXPECT_NEAR(product / kSteps, 0, 5 * (error[2] * error[5]).item<double>() * std::sqrt(kSteps));
}

TEST(Population, EqualWeightsLeaveAllChains) {
  const Tensor same = torch::full({40}, 2.5, torch::kFloat64);
  for (int64_t step = 0; step < 50; ++step) {
    EXPECT_TRUE((copies(same, 10, step) == 1).all().item<bool>());
  }
  const Tensor one = torch::tensor({0.0, -800.0, -900.0, -1000.0}, torch::kFloat64);
  EXPECT_TRUE(copies(one, 4, 0).equal(torch::tensor({4, 0, 0, 0}, torch::kInt64)));
}

// Exact draws at T_0 that are resampled once have the law of T_1.
TEST(Population, ResampledDrawsHaveTheLawOfTheNextTemperature) {
  constexpr int64_t kChains = 60000;
  constexpr Temperatures kTemperatures{2, 1.2};
  const reference::StateTable table(4, 2);
  IsingModel target(torch::tensor({0, 1, 1, 2, 2, 3, 3, 0}, torch::kInt64).view({4, 2}),
                    torch::tensor({0.7, -0.4, 0.9, 0.3}, torch::kFloat64),
                    torch::tensor({0.2, -0.5, 0.1, 0.4}, torch::kFloat64));
  const Tensor states = states_of(table), energy = target.energy(states);
  const Tensor hot = torch::softmax(-energy / kTemperatures.first, 0);
  const Tensor cold = torch::softmax(-energy / kTemperatures.last, 0);
  for (const char* name : {"gibbs", "pafs", "metropolis"}) {
    SCOPED_TRACE(name);
    Cooling cooling(target, kTemperatures, /*steps=*/2, torch::kCPU, /*population=*/kChains);
    const auto sampler = make_sampler(name, {}, cooling.model());
    auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
    const Tensor x =
        states.index_select(0, torch::multinomial(hot, kChains, /*replacement=*/true, generator));
    ChainState state = sampler->init(cooling.model(), x, torch::arange(kChains));
    StepParams params = sampler->params(3, torch::kCPU);
    for (const int64_t t : {0, 1}) {
      cooling.before_step(t, *sampler, state, params);
      sampler->step(cooling.model(), state, params);
    }
    EXPECT_TRUE(
        torch::allclose(state.current.energy, target.energy(state.x) / kTemperatures.last, 1e-12));
    Tensor number = torch::zeros({kChains}, torch::kInt64);
    for (int64_t i = 4; i-- > 0;) number = number * 2 + state.x.select(1, i).to(torch::kInt64);
    const Tensor share = torch::bincount(number, {}, 16).to(torch::kFloat64) / kChains;
    // The variance of the weighted draws, and that of the chains that a step moves.
    const Tensor weight = cold / hot;
    const Tensor spread = (hot * weight * weight).sum();
    const Tensor variance =
        ((cold * weight * (1 - 2 * cold) + cold * cold * spread) + cold * (1 - cold)) / kChains;
    EXPECT_LT(((share - cold).abs() / variance.sqrt()).max().item<double>(), 5);
    EXPECT_GT(((share - hot).abs() / variance.sqrt()).max().item<double>(), 10);
  }
}

}  // namespace
}  // namespace isinglass::population_test
