// A grid of runs, read from TOML:
//
//   title = "…"                      what the grid shows
//   repeats = 1                      of every cell, each with a seed of its own
//   mean = 0.5                       the sites' true mean: cells report the error of theirs
//   reference = "block-gibbs"        ground truth of an RBM: cells report their MMD to it
//   fixed = ["burn-in"]              options that the scale leaves alone
//   pictures = "28x28"               states are such images: cells keep the last ones of least
//                                    energy
//   [common]                         options of sampling for all cells; in place of steps,
//                                    `calls` gives all samplers as many model calls
//                                    (calls/leapfrog)
//   [[models]]                       more options; `label` names the entry in tables; `published`, a
//                                    file of the data directory, stands for `instance` if it is
//                                    there
//     [models.train]                 options of training, which then makes the weights;
//                                    several [[models.train]] make a product of networks
//     [models.otherwise]             options and label in their place where Fashion-MNIST is missing
//     [models.small]                 options and label in their place at scales below `below`
//     [models.modes]                 right = [[x, y], …], wrong = […], radius: cells report the
//                                    share of states at right modes, and when it is large
//   [[samplers]]                     more options, `sampler` among them; `label` likewise
//   [[claims]]                       what a paper says of it (lab/grid/claims.h)
//
// A grid whose cells learn (learning_grid.h) begins with cells = "train".
//
// A list of values is swept: an entry stands for all combinations of its lists. Relative paths
// start at the file's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/grid/claims.h"
#include "lab/spec/spec.h"
#include "models/combined/misled.h"

namespace isinglass {

struct Cell {
  std::string model = {}, sampler = {};  // labels of the entries
  std::string stands_for = {};  // that of the larger model, at a scale that has a smaller one
  // What the sampler's entry says beside its name, as texts.
  std::vector<std::pair<std::string, std::string>> settings = {};
  int64_t repeat = 0;
  SampleSpec sampling = {};
  std::vector<TrainSpec> training = {};  // resolved, one a network; empty: none is needed
  Modes modes = {};                      // that the grid names
  int64_t calls = 0;  // model calls that all samplers may make; 0: they have equal steps
  std::optional<TrainSpec> learning =
      {};  // of a cell that learns, resolved: then there is no sampling
  std::optional<EvaluateSpec> evaluation = {};  // of what it has learned; its weights are not named
};

// How an option of cells that learn follows the scale: times scale^exponent, a whole number at least
// `least` where it was above it.
struct ScaleRule {
  std::string option;
  double exponent = 0, least = 0;
};

struct Grid {
  std::string name = {}, title = {};
  std::optional<double> true_mean = {};
  bool reference = false;                 // MMD to block-Gibbs samples
  std::optional<ImageSize> picture = {};  // of states
  int64_t repeats = 1;
  std::vector<Cell> cells = {};  // the repeats of a setting one after another
  std::vector<Claim> claims = {};
  std::vector<ScaleRule> rules = {};  // by which a grid of cells that learn has shrunk
  // What papers say of its samplers, for the page: numbers by name.
  std::vector<std::pair<std::string, double>> published = {};
  std::string published_unit = "nats";
};

// Models in memory, on the device: each stands for the entries of its label, which then name none.
using GivenModels = std::map<std::string, std::shared_ptr<EnergyModel>>;

// The preset or the file, for the rest of the spec; relative paths in a file start at its folder.
// Throws Error, with the entry, for anything that the grid, sampling or training does not know or
// take.
Grid read_grid(const GridSpec& spec, const GivenModels& given = {});

}  // namespace isinglass
