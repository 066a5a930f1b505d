// A grid's run: every cell in its turn, each kept in a file of the directory as soon as it is
// finished, so that a grid that is killed goes on at the next cell; in the end results.json and
// results.csv, with a verdict on every claim.
//
// Ranks take cells one by one, and each writes those that it has run to the directory, which they
// share; rank 0 writes the rest and has the results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/cells/stale.h"
#include "lab/grid/grid.h"
#include "lab/run/assemble.h"

namespace isinglass {

struct GridHooks {
  // The number of the next cell, from 0: one of the grid for one rank. By default all in their turn.
  std::function<int64_t()> next = {};
  // A cell is finished, now or earlier: so many of them, and which.
  std::function<void(int64_t done, const std::string& cell)> on_cell = {};
  std::function<void()> on_kept = {};  // the file of a cell has been written
  OnStale on_stale = {};               // before any cell is set aside
};

// Runs the grid on its entries' models, or on given ones. Returns what results.json holds. Finished
// cells and trainings of another program, of other data or of too short a time are set aside
// (cells/stale.h) and measured again. Throws Error if the directory has cells of another grid,
// Interrupted ("3 of 10 cells are finished") if it was stopped.
nlohmann::ordered_json run_grid(const GridSpec& spec, const Grid& grid,
                                const std::filesystem::path& directory, const Context& context,
                                const GridHooks& hooks = {}, const GivenModels& given = {});

}  // namespace isinglass
