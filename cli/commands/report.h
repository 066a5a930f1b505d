// The page of a run's directory.
#pragma once

#include <filesystem>

namespace isinglass {

// Throws Error if the directory holds no finished run, or a damaged one.
void write_report(const std::filesystem::path& directory, const std::filesystem::path& file);

}  // namespace isinglass
