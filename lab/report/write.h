// Writes the page of a run's directory: one HTML file that needs no network.
#pragma once

#include <filesystem>

namespace isinglass {

// Writes the page. Throws Error if the directory holds no finished run, or a damaged one.
void write_report(const std::filesystem::path& directory, const std::filesystem::path& file);

// Judges the claims of a grid's results.json again, from its rows and by the rules of this program.
// The claims and their margins are those of the grid's file as it is now, if the grid comes from a
// file that still exists, and otherwise those of results.json. Does nothing if there is no
// results.json.
void judge_grid(const std::filesystem::path& directory);

}  // namespace isinglass
