// Reads grids of training cells, in which every cell is a run of `train` with the sampler of its
// entry.
//
//   cells = "train"
//   title, repeats, [[claims]]       as in any grid
//   [common]                         options of training for all cells
//   [[models]]                       more options: the model and its data; `label` names the entry
//     [models.small]                 options and label in their place at scales below `below`
//   [[samplers]]                     more options, among them `sampler`
//   [scale]                          OPTION = EXPONENT or [EXPONENT, LEAST]: effect of --scale
//   [evaluate]                       options of evaluation of the trained model: of the averaged
//                                    parameters with the best validation score, or else the last,
//                                    on the training data set, by the cell's sampler unless it
//                                    names one
//     [evaluate.scale]               effect of --scale on these options
//   [published]                      NAME = NUMBER: log-likelihoods in papers, for the page, in
//                                    `unit`: nats, or bits per dimension
//
// The seed of a cell is the grid's seed plus the number of the repeat. It seeds the model, the data
// order and the chains.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>

#include "lab/grid/grid.h"

namespace isinglass {

// Adds the cells and the rules by which the scale changes them. Throws Error, naming the entry, as
// read_grid() does.
void read_learning_cells(const toml::table& table, const std::filesystem::path& folder,
                         const GridSpec& spec, Grid& grid);

}  // namespace isinglass
