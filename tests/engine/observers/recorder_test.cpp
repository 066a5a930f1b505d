// Draws kept in a mapped file are those kept in memory, for whole and for interrupted runs.
#include "engine/observers/recorder.h"

#include <gtest/gtest.h>

#include "engine/observers/states.h"
#include "tests/support/scratch.h"

namespace isinglass::recorder_test {
namespace {

// A grid cell measures the speed of `isinglass sample`: no observer asks for every kept step.
TEST(GridObservers, LeaveKeptStepsToTheSampler) {
  const RunPlan plan{.burn_in = 8, .steps = 16};
  const BurnInTrace burn_in(plan);
  EXPECT_TRUE(burn_in.every_step(true));
  const Recorder recorder({4, 2, 3, torch::kUInt8}, {}, /*keep_samples=*/false);
  const StateMean mean;
  const LateStates late(4, 2);
  const LastStates last(4);
  for (const Observer* observer :
       {static_cast<const Observer*>(&burn_in), static_cast<const Observer*>(&recorder),
        static_cast<const Observer*>(&mean), static_cast<const Observer*>(&late),
        static_cast<const Observer*>(&last)}) {
    EXPECT_FALSE(observer->every_step(false));
  }
}

TEST(RecorderTest, AMappedFileHoldsWhatMemoryHolds) {
  const Scratch scratch;
  for (const torch::ScalarType type : {torch::kUInt8, torch::kInt64, torch::kFloat32}) {
    const Recorder::Shape shape{5, 3, 7, type};
    EXPECT_EQ(shape.bytes(), 105.0 * static_cast<double>(c10::elementSize(type)));
    Recorder memory(shape, {}, true);
    const auto file = scratch / "draws.tmp";
    {
      Recorder mapped(shape, {}, true, file);
      for (int64_t draw = 0; draw < 5; ++draw) {
        ChainState state;
        state.x = torch::randint(100, {3, 7}).to(type);
        state.current.energy = torch::rand({3}, torch::kFloat64);
        memory.on_draw(draw, state);
        mapped.on_draw(draw, state);
        EXPECT_TRUE(torch::equal(memory.samples(), mapped.samples()));
        EXPECT_TRUE(torch::equal(memory.energy(), mapped.energy()));
        EXPECT_EQ(mapped.samples().storage().nbytes(), mapped.samples().nbytes());
      }
      EXPECT_TRUE(std::filesystem::exists(file));
    }
    EXPECT_FALSE(std::filesystem::exists(file));
  }
}

}  // namespace
}  // namespace isinglass::recorder_test
