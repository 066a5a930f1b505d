// Limits of control groups, in trees of files as both versions and containers have them.
#include "io/control_group.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <fstream>

#include "tests/support/scratch.h"

namespace isinglass::control_group_test {
namespace {

class ControlGroups : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path file = root() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::filesystem::path root() const { return scratch_.folder(); }
  double quota() const { return processor_quota(root()); }

  Scratch scratch_;
};

TEST_F(ControlGroups, VersionTwoTakesTheLeastOfAllLevels) {
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/cpu.stat", "");
  put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 1.5);
  put("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
  EXPECT_EQ(control_groups("memory", root()).size(), 3u);
}

TEST_F(ControlGroups, VersionOneHasAFolderAController) {
  put("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/docker/0123\n1:name=systemd:/\n0::/\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us",
      "200000\n");  // in a container, whose group is the mount
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2);
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_TRUE(std::isinf(quota()));
}

TEST_F(ControlGroups, NothingOrNonsenseIsNoLimit) {
  EXPECT_TRUE(std::isinf(quota()));
  put("proc/self/cgroup", "0::/\nnonsense\n:\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(quota()));
  put("sys/fs/cgroup/cpu.max", "many\n");
  EXPECT_TRUE(std::isinf(quota()));
  put("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_TRUE(std::isinf(quota()));
}

TEST(UsableProcessors, AreNoMoreThanTheAffinityAllows) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_processors(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_processors(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace isinglass::control_group_test
