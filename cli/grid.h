// A grid of runs for `isinglass ablate`, read from TOML:
//
//   title = "…"                      what the grid shows
//   repeats = 1                      of every cell, each with a seed of its own
//   mean = 0.5                       the sites' true mean: cells report the error of theirs
//   reference = "block-gibbs"        ground truth of an RBM: cells report their MMD to it
//   fixed = ["burn-in"]              flags that --scale leaves alone
//   pictures = "28x28"               states are such images: cells keep the last ones of least
//                                    energy
//   [common]                         flags of `isinglass sample` for all cells; in place of steps,
//                                    `calls` gives all samplers as many model calls
//                                    (calls/leapfrog)
//   [[models]]                       more flags; `label` names the entry in tables; `published`, a
//                                    file of the data directory, stands for `instance` if it is
//                                    there
//     [models.train]                 flags of `isinglass train`, which then makes the weights;
//                                    several [[models.train]] make a product of networks
//     [models.otherwise]             flags and label in their place where Fashion-MNIST is missing
//     [models.modes]                 right = [[x, y], …], wrong = […], radius: cells report the
//                                    share of states at right modes, and when it is large
//   [[samplers]]                     more flags, `sampler` among them; `label` likewise
//   [[claims]]                       what a paper says of it (lab/grid/claims.h)
//
// A list of values is swept: an entry stands for all combinations of its lists. Relative paths
// start at the file's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/grid/claims.h"
#include "cli/grid_flags.h"
#include "models/combined/misled.h"

namespace isinglass {

struct Cell {
  std::string model = {}, sampler = {};  // labels of the entries
  Flags settings = {};                   // the sampler entry's flags beside `sampler`
  int64_t repeat = 0;
  Flags sampling = {};               // all flags of `isinglass sample`
  std::vector<Flags> training = {};  // of `isinglass train`, one a network; empty: none is needed
  Modes modes = {};                  // that the grid names
  int64_t calls = 0;  // model calls that all samplers may make; 0: they have equal steps
};

struct Grid {
  std::string name = {}, title = {};
  std::optional<double> true_mean = {};
  bool reference = false;                                   // MMD to block-Gibbs samples
  std::optional<std::pair<int64_t, int64_t>> picture = {};  // height and width of states
  std::vector<Cell> cells = {};
  std::vector<Claim> claims = {};
};

// What the command line says of all cells.
struct GridOptions {
  double scale = 1;  // chains, steps, burn-in and training iterations times √scale
  int64_t seed = 0;  // of the first repeat
  std::filesystem::path weights = {};  // in place of training
  std::filesystem::path files = {};    // where published files are: the data directory
  Flags data = {};                     // --dataset and --data-dir, where they are given
  bool has_fashion_mnist = false;
};

// `name` is the preset or the file; relative paths in it start at `folder`. Throws Error, with
// the entry, for anything that the grid, `sample` or `train` does not know or take.
Grid read_grid(const std::string& text, const std::string& name,
               const std::filesystem::path& folder, const GridOptions& options);

}  // namespace isinglass
