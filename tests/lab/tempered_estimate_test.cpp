// A tempered estimate goes on from what it saved after any of its steps as if it had not been broken off.
#include "lab/evaluation/tempered_estimate.h"

#include <gtest/gtest.h>

#include <map>

#include "lab/run/tempering.h"
#include "models/instances/instances.h"

namespace isinglass {
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
    EXPECT_EQ(resumed.json(), unbroken.json()) << step;
    EXPECT_EQ(resumed.energy_evaluations(), unbroken.energy_evaluations()) << step;
    EXPECT_TRUE(torch::equal(resumed.rung_history(), unbroken.rung_history())) << step;
  }
}

}  // namespace
}  // namespace isinglass
