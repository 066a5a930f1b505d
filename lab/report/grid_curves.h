// What the page of a grid shows of its cells' own files: curves and pictures.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/grid/rows.h"
#include "lab/report/page.h"

namespace isinglass::report {

// The files of the finished cells, by their names.
std::vector<Json> finished_cells(const std::filesystem::path& directory);

// Those of the first repeat, by model and label.
using Cells = std::map<std::pair<std::string, std::string>, Json>;
Cells first_cells(const std::vector<Json>& finished);

// Curves of the best setting of every sampler: energies and shares of states from the start,
// autocorrelations, or what training was like.
void add_curves(Json& list, const std::vector<Setting>& best, const Cells& cells);

// States of least energy, or chains of the end of training, of these settings.
Json cell_pictures(const std::vector<Setting>& best, const Cells& cells);

// Of the cells whose evaluation came to no likelihood: model, setting, repeat, why, and what the estimates of
// test images from the base and from the model came to.
Json open_evaluations(const std::vector<Json>& finished);

// "4 to 5" of a whole number of a part of the cells' files.
std::string range_of(const Cells& cells, const std::string& part, const std::string& key);

}  // namespace isinglass::report
