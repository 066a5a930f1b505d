// Warnings of chains that stay in separate modes: whole runs of an RBM by Gibbs sweeps, which
// accept every proposal.
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"
#include "train/trainer.h"

namespace isinglass {
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

TEST(StuckChains, InTwoModesAreWarnedOf) {
  for (const uint64_t seed : {1, 2}) {
    // At one sweep per iteration each chain keeps its mode. At ten, the parameters follow the
    // chains, which change their mode together.
    const auto stay = trained(two_modes(), 8, chains(50, 1, seed), 0.05, 4000).all;
    const auto alike = trained(two_modes(), 8, chains(50, 10, seed), 0.1, 1200).all;
    ASSERT_FALSE(stay.empty()) << seed;
    ASSERT_FALSE(alike.empty()) << seed;
    for (const auto& warning : stay) std::printf("stay %ld: %s\n", (long)seed, warning.c_str());
    for (const auto& warning : alike) std::printf("alike %ld: %s\n", (long)seed, warning.c_str());
  }
}

TEST(StuckChains, AreNotFoundInHealthyTraining) {
  for (const uint64_t seed : {1, 2}) {
    for (const double rate : {0.05, 0.005}) {
      for (const int64_t steps : {1, 10}) {
        const Warnings found =
            trained(bars_and_stripes(3), 12, chains(50, steps, seed), rate, 1200);
        EXPECT_TRUE(found.all.empty()) << found.all.front();
        ASSERT_EQ(found.spreads.size(), 6u);
        for (const double spread : found.spreads) EXPECT_GT(spread, 0.4);
      }
    }
  }
  for (const double rate : {1e-2, 1e-3}) {
    const Warnings found = trained(load_dataset("strokes", ""), 50, chains(25, 10, 1), rate, 400);
    EXPECT_TRUE(found.all.empty()) << found.all.front();
  }
}

}  // namespace
}  // namespace isinglass
