// Networks of a grid are trained once for all cells that need them.
#include "lab/grid/cells/trained_models.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "io/files.h"
#include "lab/run/training.h"
#include "tests/support/scratch.h"

namespace isinglass::trained_models_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGridText = R"(
[common]
chains = 4
steps = 5
[[models]]
[models.train]
model = "rbm"
dataset = "strokes"
hidden = 4
iters = 2
steps-per-iter = 1
buffer = 20
batch = 10
[[samplers]]
sampler = "gwg"
)";

TEST(GridModels, ANetworkThatAnotherProcessTrainsIsWaitedFor) {
  const Scratch scratch;
  std::ofstream(scratch / "grid.toml") << kGridText;
  const Grid grid = read_grid({.file = scratch / "grid.toml", .cache = scratch / "cache"});
  const auto make = [&] {
    GridIdentity identity(torch::kCPU, {});
    GridModels(scratch / "cache", identity, torch::kCPU).target(grid.cells.front(), false);
  };
  make();
  const fs::path kept = fs::directory_iterator(scratch / "cache")->path();
  EXPECT_FALSE(fs::exists(kept / "partial"));

  fs::rename(kept / "ema.pt", scratch / "ema.pt");  // as before the other has finished
  auto lock = std::make_unique<FolderLock>();
  ASSERT_TRUE(lock->take(kept));
  std::atomic<bool> done = false;
  std::thread waiting([&] {
    make();
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(done);
  fs::rename(scratch / "ema.pt", kept / "ema.pt");
  const auto written = fs::last_write_time(kept / "ema.pt");
  lock.reset();
  waiting.join();
  EXPECT_EQ(fs::last_write_time(kept / "ema.pt"), written);
}

// A training run that was stopped resumes at its checkpoint and gives the same weights.
TEST(GridModels, AnInterruptedTrainingGoesOn) {
  const Scratch scratch;
  std::string text = kGridText;
  text.replace(text.find("iters = 2"), 9, "iters = 12");
  std::ofstream(scratch / "grid.toml") << text;
  const Grid grid = read_grid({.file = scratch / "grid.toml", .cache = scratch / "cache"});
  const auto train = [&](const std::string& cache, const Stop& stop) {
    GridIdentity identity(torch::kCPU, {});
    GridModels(scratch / cache, identity, torch::kCPU, stop).target(grid.cells.front(), false);
    return fs::path(fs::directory_iterator(scratch / cache)->path());
  };
  int asked = 0;
  EXPECT_THROW(train("cache", [&] { return ++asked > 5; }), Interrupted);
  const fs::path kept = fs::directory_iterator(scratch / "cache")->path();
  ASSERT_FALSE(newest_checkpoint(kept / "partial").empty());
  train("cache", {});
  EXPECT_FALSE(fs::exists(kept / "partial"));
  const std::string log = read_file(kept / "log.txt");
  EXPECT_NE(log.find("resumed"), std::string::npos) << log;
  const fs::path whole = train("whole", {});
  EXPECT_EQ(read_file(kept / "ema.pt"), read_file(whole / "ema.pt"));
}

}  // namespace
}  // namespace isinglass::trained_models_test
