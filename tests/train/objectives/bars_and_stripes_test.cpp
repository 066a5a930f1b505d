// PCD with each sampler against exact-gradient training: 4×4 bars and stripes, an RBM with 10
// hidden units, from the same start, the likelihood by enumeration of all 2^16 images.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/registry.h"
#include "models/registry.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"
#include "train/optimiser/adam.h"
#include "train/optimiser/ema.h"

namespace isinglass {
namespace {

// The learned distribution is almost deterministic, and a step moves few sites: chains that make
// fewer steps an iteration lag behind it, whatever their number (with 40 steps the likelihood is
// 0.4 nats lower). With fewer chains the noise of the gradient costs up to 0.1 nats.
constexpr int64_t kIterations = 2000, kWarmup = 100, kChains = 1024, kSteps = 300;
constexpr double kLearningRate = 1e-2, kDecay = 0.99;

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
  ema.swap();
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

class BarsAndStripesLong : public testing::TestWithParam<const char*> {};

TEST_P(BarsAndStripesLong, PcdReachesWhatTheExactGradientReaches) {
  const Dataset data = bars_and_stripes(4);
  const auto model = fresh_rbm();
  // Of 16 sites: paths of the default radius, 5, are refused where the distribution is sharp.
  SamplerOptions sampling;
  if (GetParam() == std::string("pafs")) sampling.radius = 2;
  const auto sampler = make_sampler(GetParam(), sampling, *model);
  const PcdOptions options = {.batch = kChains, .steps = kSteps, .seed = 1};
  ReplayBuffer buffer(clamped_mean(data), kChains, options.seed);
  PcdSampling chains_of(*sampler, options);
  const double pcd = train(*model, data.train, [&](int64_t t) {
    const torch::Tensor slots = buffer.draw_slots(kChains, t);
    const PcdChains chains = chains_of.advance(*model, buffer.chains(slots, 0, t), slots, t);
    buffer.write_back(slots, chains.states);
    return pcd_loss(*model, data.train, chains.states, options).loss;
  });
  const double exact = exact_result();
  std::printf("%s: %.4f nats, exact gradient: %.4f nats\n", GetParam(), pcd, exact);
  EXPECT_GT(exact, -4.0);  // far from the 16·log 2 = 11.1 nats of the start
  EXPECT_NEAR(pcd, exact, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Samplers, BarsAndStripesLong,
                         testing::Values("rwm", "gibbs", "gwg", "pafs"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace isinglass
