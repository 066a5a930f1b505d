// Implements the limits. Files and formats are described in Documentation/admin-guide/cgroup-v1 and
// cgroup-v2.rst of the Linux kernel.
#include "io/control_group.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Appends the existing directories from mount/group up to mount. Inside a container the file system
// may show the container's group only, as the mount itself.
void append_up_to(const fs::path& mount, const fs::path& group, std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (fs::path at = group.relative_path();; at = at.parent_path()) {
    const fs::path folder = at.empty() ? mount : mount / at;
    if (fs::is_directory(folder, ignored)) folders.push_back(folder);
    if (at.empty()) return;
  }
}

bool lists(const std::string& controllers, const std::string& controller) {
  std::istringstream names(controllers);
  std::string name;
  while (std::getline(names, name, ',')) {
    if (name == controller) return true;
  }
  return false;
}

// Returns the number at the beginning of a file; nothing if the file is missing or says "max".
std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// Returns the quota of one group. Version 2 has "quota period" or "max period" in one file; version
// 1 has two files, with a quota of -1 for no limit.
double quota_of(const fs::path& group) {
  std::ifstream both(group / "cpu.max");
  double quota = 0, period = 0;
  if (both >> quota >> period && quota > 0 && period > 0) return quota / period;
  const auto first = number_in(group / "cpu.cfs_quota_us");
  const auto second = number_in(group / "cpu.cfs_period_us");
  return first && second && *first > 0 && *second > 0 ? *first / *second : kNoLimit;
}

int processors_of_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  // The mask does not fit if there are more than 1024 processors.
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::vector<fs::path> control_groups(const std::string& controller, const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::vector<fs::path> folders;
  std::ifstream in(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {  // format hierarchy:controllers:/group
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) append_up_to(mount, group, folders);
    if (lists(controllers, controller)) append_up_to(mount / controller, group, folders);
  }
  return folders;
}

double processor_quota(const fs::path& root) {
  double least = kNoLimit;
  for (const fs::path& group : control_groups("cpu", root)) {
    least = std::min(least, quota_of(group));
  }
  return least;
}

int usable_processors() {
  const double limit = std::ceil(processor_quota());
  const int processors = processors_of_affinity();
  return std::max(1, limit < processors ? static_cast<int>(limit) : processors);
}

}  // namespace isinglass
