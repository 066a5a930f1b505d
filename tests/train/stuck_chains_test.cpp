// Warnings of chains that stay in separate modes: whole runs of an RBM by Gibbs sweeps, which
// accept every proposal.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/registry.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"
#include "train/trainer.h"

namespace isinglass::stuck_chains_test {
namespace {

struct Warnings : TrainObserver {
  std::vector<std::string> all;
  std::vector<double> spreads;
  void on_warning(const std::string& message) override { all.push_back(message); }
  void on_iteration(const Metrics& metrics) override {
    if (const auto spread = metrics.find("spread")) spreads.push_back(*spread);
  }
};

// Returns what a training tells. Chains make 1000 steps in 1000 / steps iterations.
Warnings trained(const Dataset& data, int64_t hidden, const PcdOptions& pcd, double rate,
                 int64_t iterations) {
  const Scratch scratch;
  Warnings observer;
  const std::shared_ptr<EnergyModel> model = new_model(
      "rbm", {.image_height = data.height, .image_width = data.width, .hidden = hidden}, 4);
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *model);
  TrainOptions options;
  options.iterations = options.checkpoint_every = iterations;
  options.learning_rate = rate;
  options.warmup = 0;
  Trainer trainer(
      model, std::make_unique<PcdObjective>(*model, *sampler, data, pcd, iterations, torch::kCPU),
      options, {.observer = &observer});
  trainer.start(scratch / "run");
  EXPECT_EQ(trainer.run().recoveries, 0);
  return observer;
}

PcdOptions chains(int64_t count, int64_t steps, uint64_t seed) {
  return {.batch = count, .buffer = count, .steps = steps, .seed = seed};
}

// Half of the images are white and half are black. No sweep leads from one to the other.
Dataset two_modes() {
  Dataset data;
  data.name = "two";
  data.train = torch::cat({torch::zeros({50, 16}), torch::ones({50, 16})}).to(torch::kUInt8);
  data.height = data.width = 4;
  return data;
}

bool tells(const Warnings& found, const std::string& words) {
  return std::any_of(found.all.begin(), found.all.end(), [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

// At one sweep per iteration each chain keeps its mode.
TEST(StuckChains, ThatKeepTheirModesAreWarnedOf) {
  const Warnings found = trained(two_modes(), 8, chains(50, 1, 1), 0.05, 3000);
  EXPECT_TRUE(tells(found, "iteration 3000: the chains stay where they are"));
}

// At ten sweeps per iteration the parameters follow the chains, which change their mode together.
TEST(StuckChains, ThatChangeTheirModeTogetherAreWarnedOf) {
  const Warnings found = trained(two_modes(), 8, chains(50, 10, 2), 0.1, 400);
  EXPECT_TRUE(tells(found, "iteration 400: the chains are nearly all alike"));
}

TEST(StuckChains, AreNotFoundInHealthyTraining) {
  for (const double rate : {0.05, 0.005}) {
    const Warnings found = trained(bars_and_stripes(3), 12, chains(50, 10, 1), rate, 800);
    EXPECT_TRUE(found.all.empty()) << found.all.front();
    ASSERT_EQ(found.spreads.size(), 4u);
    for (const double spread : found.spreads) EXPECT_GT(spread, 0.4);
  }
  const Warnings found = trained(load_dataset("strokes", ""), 50, chains(25, 10, 1), 1e-2, 400);
  EXPECT_TRUE(found.all.empty()) << found.all.front();
}

}  // namespace
}  // namespace isinglass::stuck_chains_test
