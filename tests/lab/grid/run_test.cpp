// A grid's run: each cell goes to the next rank that asks, and cells that no longer count are kept.
#include "lab/grid/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "io/files.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"

namespace isinglass::run_test {
namespace {

// Rank 0 takes as long for its first cell as the other rank for all remaining ones. With fixed
// shares one rank would wait for the other.
TEST(Grid, HandsOutItsCellsOneByOne) {
  const Scratch scratch;
  write_file(scratch / "grid.toml",
             "repeats = 6\n[common]\nchains = 2\nburn-in = 2\nsteps = 4\n"
             "[[models]]\ninstance = \"ising-grid:side=3\"\n[[samplers]]\nsampler = \"gwg\"\n");
  const GridSpec spec{.file = scratch / "grid.toml", .cache = scratch / "cache"};
  const Grid grid = read_grid(spec);
  ASSERT_EQ(grid.cells.size(), 6);
  std::atomic<int64_t> counter = 0, done = 0;
  const auto taken = on_ranks<std::vector<int64_t>>(2, [&](const Ranks& ranks) {
    std::vector<int64_t> own;
    GridHooks hooks;
    hooks.next = [&] {
      while (!ranks.is_rank0() && counter == 0) std::this_thread::yield();  // rank 0 is the first
      return counter++;
    };
    hooks.on_cell = [&](int64_t cell, const std::string&) {
      own.push_back(cell);
      ++done;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (ranks.is_rank0() && done < 6 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    };
    run_grid(spec, grid, scratch / "run", {.ranks = &ranks}, hooks);
    return own;
  });
  EXPECT_EQ(taken[0].size(), 1);
  EXPECT_EQ(taken[1].size(), 5);
  std::multiset<int64_t> all(taken[0].begin(), taken[0].end());
  all.insert(taken[1].begin(), taken[1].end());
  EXPECT_EQ(all, (std::multiset<int64_t>{1, 2, 3, 4, 5, 6}));
}

namespace fs = std::filesystem;

// Changes the cell's record so that it belongs to another program.
std::string make_other(const fs::path& file, const std::string& program) {
  nlohmann::ordered_json cell = nlohmann::ordered_json::parse(read_file(file));
  cell["identity"]["program"] = program;
  write_file(file, cell.dump());
  return cell.dump();
}

TEST(Grid, WhatAnotherProgramMadeIsSetAside) {
  const Scratch scratch;
  write_file(scratch / "grid.toml",
             "repeats = 2\n[common]\nchains = 2\nburn-in = 2\nsteps = 4\n"
             "[[models]]\ninstance = \"ising-grid:side=3\"\n[[samplers]]\nsampler = \"gwg\"\n");
  const GridSpec spec{.file = scratch / "grid.toml", .cache = scratch / "cache"};
  const Grid grid = read_grid(spec);
  const fs::path run = scratch / "run", cell = run / "cells/00001.json";
  std::vector<std::string> told;
  const GridHooks hooks{
      .on_stale = [&](int64_t cells, const std::string& why, const fs::path& folder) {
        EXPECT_TRUE(fs::exists(cell));  // nothing has been moved yet
        told.push_back(std::to_string(cells) + " " + why.substr(0, 22) + " " +
                       folder.filename().string());
      }};
  run_grid(spec, grid, run, {}, hooks);
  const std::string other = make_other(cell, "1f2e3d"),
                    second = read_file(run / "cells/00002.json");
  run_grid(spec, grid, run, {}, hooks);
  EXPECT_EQ(read_file(run / "stale-1f2e3d/cells/00001.json"), other);
  EXPECT_NE(read_file(cell), other);
  EXPECT_EQ(read_file(run / "cells/00002.json"), second);
  const std::string again = make_other(cell, "1f2e3d"),
                    strange = make_other(run / "cells/00002.json", "../a b");
  run_grid(spec, grid, run, {}, hooks);
  EXPECT_EQ(read_file(run / "stale-1f2e3d/cells/00001.json"), other);
  EXPECT_EQ(read_file(run / "stale-1f2e3d-2/cells/00001.json"), again);
  EXPECT_EQ(read_file(run / "stale-.._a_b/cells/00002.json"), strange);
  EXPECT_EQ(told, (std::vector<std::string>{"1 the program was 1f2e3d stale-1f2e3d",
                                            "1 the program was ../a b stale-.._a_b",
                                            "1 the program was 1f2e3d stale-1f2e3d-2"}));
}

// The network that a cell has trained is moved with it, finished or not.
TEST(Grid, WhatAnotherProgramTrainedIsSetAside) {
  const Scratch scratch;
  write_file(scratch / "grid.toml", R"(
cells = "train"
repeats = 2
[common]
model = "rbm"
hidden = 4
iters = 2
steps-per-iter = 1
buffer = 20
batch = 10
[[models]]
dataset = "strokes"
[[samplers]]
sampler = "gwg"
)");
  const GridSpec spec{.file = scratch / "grid.toml", .cache = scratch / "cache"};
  const Grid grid = read_grid(spec);
  const fs::path run = scratch / "run";
  run_grid(spec, grid, run, {});
  make_other(run / "cells/00001.json", "1f2e3d");
  make_other(run / "runs/00001/cell.json", "1f2e3d");
  const std::string weights = read_file(run / "runs/00001/weights.pt");
  // The second is half-trained: it has a checkpoint, and no file of the cell.
  fs::remove(run / "cells/00002.json");
  make_other(run / "runs/00002/cell.json", "1f2e3d");
  fs::create_directories(run / "runs/00002/checkpoints");
  write_file(run / "runs/00002/checkpoints/00000001.pt", "half");
  run_grid(spec, grid, run, {});
  const fs::path stale = run / "stale-1f2e3d";
  EXPECT_TRUE(fs::exists(stale / "cells/00001.json"));
  EXPECT_EQ(read_file(stale / "runs/00001/weights.pt"), weights);
  EXPECT_EQ(read_file(stale / "runs/00002/checkpoints/00000001.pt"), "half");
  for (const char* file :
       {"cells/00001.json", "cells/00002.json", "runs/00001/weights.pt", "runs/00002/weights.pt"}) {
    EXPECT_TRUE(fs::exists(run / file)) << file;
  }
}

// A path that is not valid UTF-8 does not lose the measurement.
TEST(Grid, ACellOfAnyPathIsKept) {
  const Scratch scratch;
  const fs::path folder = scratch / "a\xff";
  fs::create_directories(folder);
  write_file(folder / "grid.toml",
             "[common]\nchains = 2\nburn-in = 2\nsteps = 4\n[[models]]\nmodel = \"bayesnet\"\n"
             "weights = \"two.uai\"\n[[samplers]]\nsampler = \"lb\"\n");
  write_file(folder / "two.uai", "BAYES 2 2 2 2 1 0 2 0 1 2 0.3 0.7 4 0.9 0.1 0.2 0.8");
  const GridSpec spec{.file = folder / "grid.toml", .cache = scratch / "cache"};
  const auto results = run_grid(spec, read_grid(spec), scratch / "run", {});
  EXPECT_EQ(results["rows"][0]["status"], "done") << results["rows"][0].dump();
  EXPECT_TRUE(fs::exists(scratch / "run/results.json"));
  EXPECT_EQ(run_grid(spec, read_grid(spec), scratch / "run", {})["rows"], results["rows"]);
}

}  // namespace
}  // namespace isinglass::run_test
