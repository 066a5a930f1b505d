// A tempered estimate that is resumed from its saved state after any of its steps gives the result
// of an uninterrupted one.
#include "lab/evaluation/tempered_estimate.h"

#include <gtest/gtest.h>

#include <map>

#include "lab/run/sampling.h"
#include "lab/run/tempering.h"
#include "models/instances/instances.h"
#include "tests/support/scratch.h"

namespace isinglass::tempered_estimate_test {
namespace {

TEST(TemperedEstimate, GoesOnFromWhatItSavedAfterAnyStep) {
  const auto model = make_instance("ising-grid:side=4,coupling=0.4", {});
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  const EvaluateSpec spec{.sampler = {"dlp", {{"adapt", true}}},
                          .chains = 8,
                          .rungs = "4",
                          .path = "linear",
                          .seed = 3};
  constexpr int64_t kScans = 20, kBurnIn = 10;
  const auto tempering = tempering_of(spec, kScans, *model, start, {});
  const auto fresh = [&] {
    return TemperedEstimate(spec, *model, *tempering, start, kScans, 0, {});
  };
  std::map<int64_t, PtDict> saved;
  TemperedEstimate unbroken = fresh();
  ASSERT_TRUE(unbroken.run(
      [&] {
        for (const int64_t step : {1, 7, 9, 10, 11, 29, 30}) {
          if (unbroken.steps_done() == step) saved[step] = unbroken.checkpoint();
        }
      },
      {}));
  ASSERT_EQ(saved.size(), 7u);
  ASSERT_EQ(unbroken.steps_total(), kBurnIn + kScans);
  for (const auto& [step, checkpoint] : saved) {
    TemperedEstimate resumed = fresh();
    resumed.restore(checkpoint);
    EXPECT_EQ(resumed.steps_done(), step);
    ASSERT_TRUE(resumed.run({}, {}));
    EXPECT_EQ(resumed.json(0), unbroken.json(0)) << step;
    EXPECT_EQ(resumed.energy_evaluations(), unbroken.energy_evaluations()) << step;
    EXPECT_TRUE(torch::equal(resumed.rung_history(), unbroken.rung_history())) << step;
  }
}

// `exploration` multiplies the steps of a chain. Beyond the range of a counter, random numbers
// would repeat, and the run is refused before it begins.
TEST(TemperedCounters, AreEnoughOrTheRunIsRefused) {
  const std::string instance = "ising-grid:side=4,coupling=0.4";
  const auto model = make_instance(instance, {});
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  const auto evaluate = [&](int64_t scans, int64_t exploration) {
    tempering_of(EvaluateSpec{.sampler = {"gwg", {}},
                              .chains = 8,
                              .rungs = "4",
                              .exploration = exploration,
                              .path = "linear"},
                 scans, *model, start, {});
  };
  EXPECT_NO_THROW(evaluate(2863311530, 1));  // with a burn-in of half as many, 2³² − 1
  EXPECT_ERROR(evaluate(2863311531, 1), "random numbers of their own");
  EXPECT_ERROR(evaluate(1 << 20, 1 << 12), "random numbers of their own");
  const auto sample = [&](int64_t burn_in, int64_t steps, int64_t exploration) {
    Sampling({.model = {.instance = instance},
              .sampler = {"gwg", {}},
              .chains = 2,
              .burn_in = burn_in,
              .steps = steps,
              .rungs = "4",
              .exploration = exploration},
             {.device = torch::kCPU});
  };
  EXPECT_ERROR(sample(0, 10000000, 430), "exploration is 430");
  EXPECT_ERROR(sample(1 << 30, (1 << 30) + 1, 2), "random numbers of their own");
}

}  // namespace
}  // namespace isinglass::tempered_estimate_test
