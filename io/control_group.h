// The limits of the control groups (cgroups, version 1 or 2) that this process runs in: containers
// and clusters set them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isinglass {

// Returns the folders of the process's group and of all groups around it that hold limits of so
// named a controller ("cpu", "memory"), the process's own first. `root` stands for "/" in tests.
std::vector<std::filesystem::path> control_groups(const std::string& controller,
                                                  const std::filesystem::path& root = "/");

// Returns the least processor time per wall-clock time that a group allows, such as 1.5 for one
// and a half processors; infinity: there is no limit.
double processor_quota(const std::filesystem::path& root = "/");

// Returns on how many processors this process's threads can run at a time, 1 or more: those of its
// affinity, or fewer by the quota.
int usable_processors();

}  // namespace isinglass
