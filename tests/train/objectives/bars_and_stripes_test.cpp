// PCD with each sampler against training by independent draws from the model, and those against the
// exact gradient: 4×4 bars and stripes, an RBM with 10 hidden units, from the same start, the
// likelihood by enumeration of all 2^16 images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/registry.h"
#include "models/registry.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"
#include "train/optimiser/adam.h"
#include "train/optimiser/ema.h"

namespace isinglass::bars_and_stripes_test {
namespace {

// The learned distribution is almost deterministic, and a step moves few sites: chains that make
// fewer steps an iteration lag behind it, whatever their number. A lower rate for more iterations
// scatters as much from seed to seed, takes longer and shows less of the lag.
constexpr int64_t kIterations = 1000, kWarmup = 100, kChains = 1024, kSteps = 600, kRuns = 12;
constexpr double kLearningRate = 2e-2, kDecay = 0.99;

// Rises over the warm-up, falls to 0 at the end.
double learning_rate(int64_t t) {
  return kLearningRate * std::min(1.0, double(t) / kWarmup) * (1 - double(t - 1) / kIterations);
}

std::shared_ptr<EnergyModel> fresh_rbm() {
  return new_model("rbm", {.image_height = 4, .image_width = 4, .hidden = 10}, 3);
}

// −mean log π(data), differentiable.
torch::Tensor negative_log_likelihood(EnergyModel& model, const torch::Tensor& data,
                                      const torch::Tensor& states) {
  return model.energy(data).to(torch::kFloat64).mean() +
         (-model.energy(states).to(torch::kFloat64)).logsumexp(0);
}

// Trains with the gradient of `loss(iteration)`; returns mean log π(data) of the averaged
// parameters.
template <class Loss>
double train(EnergyModel& model, const torch::Tensor& data, Loss loss) {
  const std::vector<torch::Tensor> parameters = model.parameters();
  Adam adam(parameters);
  Ema ema(parameters, kDecay);
  for (int64_t t = 1; t <= kIterations; ++t) {
    model.zero_grad();
    loss(t).backward();
    adam.step(learning_rate(t));
    ema.update();
  }
  ema.apply();
  torch::NoGradGuard no_grad;
  return -negative_log_likelihood(model, data, all_states(16)).template item<double>();
}

double exact_result() {
  static const double result = [] {
    const torch::Tensor data = bars_and_stripes(4).train, states = all_states(16);
    const auto model = fresh_rbm();
    return train(*model, data,
                 [&](int64_t) { return negative_log_likelihood(*model, data, states); });
  }();
  return result;
}

// Returns as many independent draws from the model as PCD has chains.
torch::Tensor independent_draws(EnergyModel& model, const torch::Tensor& states) {
  torch::NoGradGuard no_grad;
  const torch::Tensor weights = (-model.energy(states).to(torch::kFloat64)).softmax(0);
  return states.index_select(0, weights.multinomial(kChains, /*replacement=*/true));
}

struct Spread {
  double mean, deviation;  // mean and standard deviation of one run
};

// Returns the results of training runs whose chains are independent draws: the effect of gradient
// noise from seed to seed, without a sampler.
Spread independent_results() {
  static const Spread result = [] {
    const torch::Tensor data = bars_and_stripes(4).train, states = all_states(16);
    std::vector<double> results;
    for (int64_t seed = 1; seed <= kRuns; ++seed) {
      torch::manual_seed(seed);
      const auto model = fresh_rbm();
      results.push_back(train(*model, data, [&](int64_t) {
        return pcd_loss(*model, data, independent_draws(*model, states), {}).loss;
      }));
    }
    const torch::Tensor all = torch::tensor(results, torch::kFloat64);
    return Spread{all.mean().item<double>(), all.std().item<double>()};
  }();
  return result;
}

// Returns how far one run may lie from the mean of kRuns: with a standard deviation of kRuns − 1 =
// 11 degrees of freedom, one of 500 lies further off.
double bound(const Spread& spread) {
  return 4 * spread.deviation * std::sqrt(1 + 1.0 / kRuns);
}

double pcd_result(const std::string& name, int64_t steps) {
  const Dataset data = bars_and_stripes(4);
  const auto model = fresh_rbm();
  // With 16 sites, paths of the default radius, 5, are rejected where the distribution is sharp.
  SamplerOptions sampling;
  if (name == "pafs") sampling.radius = 2;
  const auto sampler = make_sampler(name, sampling, *model);
  const PcdOptions options = {.batch = kChains, .steps = steps, .seed = 1};
  ReplayBuffer buffer(clamped_mean(data), kChains, options.seed);
  PcdSampling chains_of(*sampler, options);
  return train(*model, data.train, [&](int64_t t) {
    const torch::Tensor slots = buffer.draw_slots(kChains, t);
    const PcdChains chains = chains_of.advance(*model, buffer.chains(slots, 0, t), slots, t);
    buffer.write_back(slots, chains.states);
    return pcd_loss(*model, data.train, chains.states, options).loss;
  });
}

class BarsAndStripesSamplersLong : public testing::TestWithParam<const char*> {};

TEST_P(BarsAndStripesSamplersLong, PcdReachesWhatIndependentDrawsReach) {
  const Spread draws = independent_results();
  const double pcd = pcd_result(GetParam(), kSteps);
  std::printf("%s: %.4f nats, independent draws: %.4f, deviation %.4f\n", GetParam(), pcd,
              draws.mean, draws.deviation);
  EXPECT_NEAR(pcd, draws.mean, bound(draws));
}

TEST(BarsAndStripesLong, IndependentDrawsReachWhatTheExactGradientReaches) {
  const double exact = exact_result();
  const Spread draws = independent_results();
  std::printf("exact gradient: %.4f nats, independent draws: %.4f, deviation %.4f\n", exact,
              draws.mean, draws.deviation);
  EXPECT_GT(exact, -4.0);  // far from the 16·log 2 = 11.1 nats of the start
  EXPECT_NEAR(draws.mean, exact, 0.1);
}

// Otherwise the bound would say nothing about the samplers.
TEST(BarsAndStripesLong, ChainsThatLagAreToldFromIndependentDraws) {
  const Spread draws = independent_results();
  const std::pair<const char*, int64_t> few_steps[] = {
      {"rwm", 40}, {"gibbs", 40}, {"gwg", 20}, {"pafs", 20}};
  for (const auto& [name, steps] : few_steps) {
    const double pcd = pcd_result(name, steps);
    std::printf("%s, %d steps: %.4f nats\n", name, int(steps), pcd);
    EXPECT_LT(pcd, draws.mean - bound(draws)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, BarsAndStripesSamplersLong,
                         testing::Values("rwm", "gibbs", "gwg", "pafs"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace isinglass::bars_and_stripes_test
