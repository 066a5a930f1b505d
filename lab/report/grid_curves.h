// Extracts the curves and pictures of a grid's page from the files of its cells.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/grid/rows.h"
#include "lab/page/page.h"

namespace isinglass::report {

// Returns the contents of the finished cells' files, in the order of their names.
std::vector<Json> finished_cells(const std::filesystem::path& directory);

// Holds the cells of the first repeat, by model and label of the setting.
using Cells = std::map<std::pair<std::string, std::string>, Json>;
Cells first_cells(const std::vector<Json>& finished);

// Adds the curves of the best setting of each sampler: energies and shares of states at right modes
// from the start, autocorrelations, or the course of training.
void add_curves(Json& list, const std::vector<Setting>& best, const Cells& cells);

// Returns the pictures of these settings: states of least energy, or chains at the end of training.
Json cell_pictures(const std::vector<Setting>& best, const Cells& cells);

// Returns the cells whose evaluation gave no likelihood: model, setting, repeat, reason, and the
// two estimates of the test likelihood, from the base distribution and from the model.
Json open_evaluations(const std::vector<Json>& finished);

// Formats the range of a whole number in a part of the cells' files, such as "4 to 5".
std::string range_of(const Cells& cells, const std::string& part, const std::string& key);

}  // namespace isinglass::report
