// The memory that control groups leave to a process, from planted files of both versions, and the
// variable that overrides it.
#include "lab/run/memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>

#include "io/error.h"
#include "io/files.h"
#include "lab/run/assemble.h"
#include "tests/support/scratch.h"

namespace isinglass::memory_test {
namespace {

namespace fs = std::filesystem;

void write_group(const fs::path& folder, const std::string& limit, double used, double idle) {
  fs::create_directories(folder);
  write_file(folder / "memory.max", limit + "\n");
  write_file(folder / "memory.current", fmt::format("{:.0f}\n", used));
  write_file(folder / "memory.stat", fmt::format("anon 12\ninactive_file {:.0f}\n", idle));
}

void be_in(const fs::path& root, const std::string& groups) {
  fs::create_directories(root / "proc/self");
  write_file(root / "proc/self/cgroup", groups);
}

// The result is the least over all groups from the process's own up to the root, some of which have
// no limit. Idle cache does not count as used.
TEST(GroupMemory, IsTheLeastOfAllGroupsAround) {
  const Scratch scratch;
  const fs::path& root = scratch.folder();
  const fs::path groups = root / "sys/fs/cgroup";
  be_in(root, "0::/slurm/job_7/step_0\n");
  EXPECT_TRUE(std::isinf(group_memory(root)));  // nothing there
  write_group(groups / "slurm/job_7/step_0", "max", 100, 0);
  EXPECT_TRUE(std::isinf(group_memory(root)));
  write_group(groups / "slurm/job_7", "5000", 1000, 300);
  EXPECT_EQ(group_memory(root), 4300);
  write_group(groups / "slurm", "2000", 1500, 0);
  EXPECT_EQ(group_memory(root), 500);
  write_group(groups, "9000", 1000, 0);
  EXPECT_EQ(group_memory(root), 500);
  write_group(groups / "slurm/job_7/step_0", "300", 100, 50);
  EXPECT_EQ(group_memory(root), 250);
  be_in(root, "0::/\n");  // in a name space of its own
  EXPECT_EQ(group_memory(root), 8000);
}

TEST(GroupMemory, OfTheOlderVersion) {
  const Scratch scratch;
  const fs::path folder = scratch / "sys/fs/cgroup/memory/docker/abc";
  fs::create_directories(folder);
  write_file(folder / "memory.limit_in_bytes", "7000\n");
  write_file(folder / "memory.usage_in_bytes", "3000\n");
  write_file(folder / "memory.stat", "cache 5\ntotal_inactive_file 500\n");
  be_in(scratch.folder(), "12:cpu,cpuacct:/docker/abc\n5:memory:/docker/abc\n0::/\n");
  EXPECT_EQ(group_memory(scratch.folder()), 4500);
}

TEST(AvailableMemory, IsWhatTheUserSays) {
  setenv("ISINGLASS_MEMORY", "2.5", 1);
  EXPECT_EQ(available_memory(torch::kCPU), 2.5 * kGibibyte);
  EXPECT_ERROR(require_memory(3 * kGibibyte, torch::kCPU, "`chains` 9"),
               "2.5 GiB are available; a smaller size is needed, or the environment variable "
               "ISINGLASS_MEMORY says");
  setenv("ISINGLASS_MEMORY", "100000", 1);
  require_memory(50000 * kGibibyte, torch::kCPU, "`chains` 9");
  for (const char* wrong : {"", "much", "0", "-3", "4x", "nan"}) {
    setenv("ISINGLASS_MEMORY", wrong, 1);
    EXPECT_ERROR(available_memory(torch::kCPU), "it must be a number of GiB above 0");
  }
  unsetenv("ISINGLASS_MEMORY");
  EXPECT_GT(available_memory(torch::kCPU), 1e6);
}

TEST(AvailableMemory, LimitsInstances) {
  const ModelSpec large{.instance = "ising-grid:side=2000"};
  setenv("ISINGLASS_MEMORY", "0.5", 1);
  EXPECT_ERROR(sampled_model(large, {}, {}, torch::kCPU),
               "instance ising-grid:side=2000 needs about 0.6 GiB of memory, but only 0.5 GiB are "
               "available; a smaller size is needed");
  unsetenv("ISINGLASS_MEMORY");
}

}  // namespace
}  // namespace isinglass::memory_test
