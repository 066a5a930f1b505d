// Reads the limits of the control groups (cgroups, version 1 or 2) that this process runs in.
// Containers and clusters set them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isinglass {

// Returns the directories that hold the limits of a controller ("cpu", "memory") for the process's
// group and all groups that contain it, the process's own first. `root` replaces "/" in tests.
std::vector<std::filesystem::path> control_groups(const std::string& controller,
                                                  const std::filesystem::path& root = "/");

// Returns the smallest limit of any group on processor time per wall-clock time, for example 1.5
// for one and a half processors; infinity if there is no limit.
double processor_quota(const std::filesystem::path& root = "/");

// Returns the number of processors, at least 1, on which threads of this process can run at the
// same time: those of its affinity mask, or fewer if the quota is smaller.
int usable_processors();

}  // namespace isinglass
