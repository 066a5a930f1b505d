// The page of a run's directory: one HTML file that opens with no network.
#pragma once

#include <filesystem>

namespace isinglass {

// Throws Error if the directory holds no finished run, or a damaged one.
void write_report(const std::filesystem::path& directory, const std::filesystem::path& file);

// Judges the claims of a grid's results.json again: verdicts follow from its rows by the present
// rules. Does nothing where there is none.
void judge_grid(const std::filesystem::path& directory);

}  // namespace isinglass
