// The page of a run's directory: one HTML file that opens with no network.
#pragma once

#include <filesystem>

namespace isinglass {

// Throws Error if the directory holds no finished run, or a damaged one.
void write_report(const std::filesystem::path& directory, const std::filesystem::path& file);

// Judges the claims of a grid's results.json again, by the present rules and from its rows. They
// are those of the grid's file as it is now, with its margins, if the grid is of a file that is
// still there, else those of results.json. Does nothing where there is none.
void judge_grid(const std::filesystem::path& directory);

}  // namespace isinglass
