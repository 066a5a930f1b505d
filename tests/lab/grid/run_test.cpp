// A grid on several ranks: cells go to whoever asks next.
#include "lab/grid/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "io/files.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

// Rank 0 takes as long for its first cell as the other for all that are left: fixed shares would
// let them wait for each other.
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
      while (!ranks.leads() && counter == 0) std::this_thread::yield();  // rank 0 is the first
      return counter++;
    };
    hooks.on_cell = [&](int64_t cell, const std::string&) {
      own.push_back(cell);
      ++done;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (ranks.leads() && done < 6 && std::chrono::steady_clock::now() < end) {
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

}  // namespace
}  // namespace isinglass
