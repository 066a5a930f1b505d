// Grids whose cells learn: every cell is a run of `train`, by the sampler of its entry.
//
//   cells = "train"
//   title, repeats, [[claims]]       as in any grid
//   [common]                         options of training for all cells
//   [[models]]                       more of them: the model and its data; `label` names the entry
//     [models.small]                 options and label in their place at scales below `below`
//   [[samplers]]                     more of them, `sampler` among them
//   [scale]                          OPTION = EXPONENT or [EXPONENT, LEAST]: how --scale changes it
//   [evaluate]                       options of evaluation: of the averaged parameters that validate best,
//                                    or else the last, on the data that they have learned; by the
//                                    cell's sampler unless it names one
//     [evaluate.scale]               how --scale changes these
//   [published]                      NAME = NUMBER: log-likelihoods in papers, for the page, in
//                                    `unit`: nats, or bits per dimension
//
// Seeds are the grid's, plus the number of the repeat: of the model, its data order and its chains.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>

#include "lab/grid/grid.h"

namespace isinglass {

// Adds the cells, and the rules of their scale. Throws Error, with the entry, as read_grid().
void read_learning_cells(const toml::table& table, const std::filesystem::path& folder,
                         const GridSpec& spec, Grid& grid);

}  // namespace isinglass
