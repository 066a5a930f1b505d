// Runs a grid, cell by cell. Each cell is written to a file of the directory as soon as it is
// finished, so that a grid that is killed resumes at the next cell. When all are finished, writes
// results.json and results.csv, with a verdict on every claim.
//
// Ranks take cells one by one. Each writes its own cells to the directory, which all ranks share;
// rank 0 writes the rest and has the results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/grid.h"
#include "lab/run/assemble.h"

namespace isinglass {

// Announces that this many cells are measured again, why, and the folder that receives the old
// ones.
using OnStale =
    std::function<void(int64_t cells, const std::string& why, const std::filesystem::path& folder)>;

struct GridHooks {
  // Returns the index of the next cell, from 0. Each index goes to one rank. The default takes all
  // cells in order.
  std::function<int64_t()> next = {};
  // It is called when a cell is finished, now or earlier, with its number from 1 (which is the
  // number of finished cells if one rank runs all) and its title.
  std::function<void(int64_t done, const std::string& cell)> on_cell = {};
  std::function<void()> on_kept = {};  // It is called after the file of a cell is written.
  OnStale on_stale = {};               // It is called before any cell is set aside.
};

// Runs the grid on its entries' models, or on given ones, and returns the contents of results.json.
// Finished cells and trainings that belong to another program, to other data or to a shorter time
// limit are set aside and measured again; nothing is deleted. Throws Error if the directory has
// cells of another grid, and Interrupted ("3 of 10 cells are finished") if it was stopped.
nlohmann::ordered_json run_grid(const GridSpec& spec, const Grid& grid,
                                const std::filesystem::path& directory, const Context& context,
                                const GridHooks& hooks = {}, const GivenModels& given = {});

}  // namespace isinglass
