// Tar archives (POSIX ustar and its predecessors) that contain one file, as some data sets are
// published.
#pragma once

#include <filesystem>
#include <string>

namespace isinglass {

// Returns the content of the only file in the archive, or the bytes themselves if they are not a
// tar archive. Folders, extended headers and the companions "._NAME" that macOS adds do not count.
// Throws Error naming `file` if the archive is truncated or contains no file or several.
std::string content_of_tar(const std::filesystem::path& file, std::string bytes);

}  // namespace isinglass
