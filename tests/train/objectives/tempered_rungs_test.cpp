// Tempered training chains, against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::tempered_rungs_test {
namespace {

// Long runs of a constant model: on every rung and for the persistent chain, the mean energy is
// that of exp(-βU) by enumeration, within five standard errors of batch means.
TEST(TemperedRungs, ChainsHaveTheirDistributions) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const Dataset data = bars_and_stripes(3);
  constexpr int64_t kRungs = 3, kBatches = 50, kEach = 200;
  PcdObjective objective(model, *sampler, data,
                         {.batch = 1, .buffer = 1, .steps = 1, .rungs = kRungs, .seed = 3}, 20000,
                         torch::kCPU);
  torch::Tensor sums = torch::zeros({kBatches, kRungs + 1}, torch::kFloat64);
  double swaps = 0;
  for (int64_t t = 1; t <= kBatches * kEach; ++t) {
    Batch batch = objective.draw(model, t);
    swaps += objective.loss(model, batch).metrics.back().second.item<double>();
    objective.keep(std::move(batch));
    const torch::Tensor x = torch::cat({objective.saved_state().at(0).second, objective.chains()});
    torch::NoGradGuard no_grad;
    sums[(t - 1) / kEach] += model.energy(x) / kEach;
  }
  EXPECT_GT(swaps / (kBatches * kEach), 0.3);
  EXPECT_LT(swaps / (kBatches * kEach), 0.95);  // a ratio decides
  const torch::Tensor states = all_states(9), u = model.energy(states).detach();
  const torch::Tensor mean = sums.mean(0), error = sums.std(0) / std::sqrt(kBatches);
  for (int64_t k = 0; k <= kRungs; ++k) {
    const double beta = static_cast<double>(k) / kRungs;
    const double exact = (torch::softmax(-beta * u, 0) * u).sum().item<double>();
    EXPECT_NEAR(mean[k].item<double>(), exact, 5 * error[k].item<double>()) << "rung " << k;
    EXPECT_LT(error[k].item<double>(), 0.05 * u.std().item<double>());
  }
}

// A ferromagnet of 24 spins, all pairs of which are coupled. A small field gives 92% of the mass to
// spins that are down (2.4 nats). Half of the chains relax to the up state, and none leaves it: the
// barrier is 27 nats. Swapped with tempered chains, they do.
TEST(TemperedRungs, ChainsComeToOtherModes) {
  constexpr int64_t kSpins = 24, kIterations = 2000;
  const Dataset data{.name = "both",
                     .train = torch::cat({torch::zeros({8, kSpins}, torch::kUInt8),
                                          torch::ones({8, kSpins}, torch::kUInt8)}),
                     .height = 4,
                     .width = 6};
  const torch::Tensor edges = torch::triu_indices(kSpins, kSpins, 1).t().contiguous();
  IsingModel model(edges, torch::full({edges.size(0)}, 0.15), torch::full({kSpins}, -0.05));
  const auto sampler = make_sampler("gwg", {}, model);
  const auto share_down = [&](int64_t rungs) {
    PcdObjective objective(model, *sampler, data,
                           {.batch = 20, .buffer = 20, .steps = 5, .rungs = rungs, .seed = 3},
                           kIterations, torch::kCPU);
    double down = 0;
    for (int64_t t = 1; t <= kIterations; ++t) {
      objective.keep(objective.draw(model, t));
      if (2 * t <= kIterations) continue;
      const torch::Tensor up = objective.chains().to(torch::kFloat64).mean(1);
      down += (up < 0.5).to(torch::kFloat64).mean().item<double>() / (kIterations / 2);
    }
    return down;
  };
  EXPECT_LT(share_down(0), 0.8);
  EXPECT_GT(share_down(8), 0.85);
}

TEST(TemperedRungs, AreOfChainsThatPersist) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  EXPECT_ERROR(
      PcdObjective(model, *sampler, bars_and_stripes(3),
                   {.batch = 8, .buffer = 20, .from_data = true, .rungs = 3}, 10, torch::kCPU),
      "rungs requires persistent chains, which objective cd does not have");
  Meeting meeting(2);
  const RankOfThreads first(meeting, 0);
  EXPECT_ERROR(PcdObjective(model, *sampler, bars_and_stripes(3),
                            {.batch = 8, .buffer = 20, .rungs = 3}, 10, torch::kCPU, first),
               "rungs requires a single process, but there are 2 ranks");
}

}  // namespace
}  // namespace isinglass::tempered_rungs_test
