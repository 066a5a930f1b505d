// Reads a grid of runs from TOML:
//
//   title = "…"                      what the grid shows
//   repeats = 1                      repeats of every cell, each with a seed of its own
//   mean = 0.5                       true mean of the sites: cells report the error of their mean
//   reference = "block-gibbs"        ground truth of an RBM: cells report their MMD to it
//   fixed = ["burn-in"]              options that the scale does not change
//   pictures = "28x28"               states are images of this size: cells keep those of the last
//                                    states with the least energy
//   [common]                         options of sampling for all cells; in place of steps,
//                                    `calls` gives all samplers as many model calls
//                                    (calls/leapfrog)
//   [[models]]                       more options; `label` names the entry in tables; `published`,
//                                    a file of the data directory, replaces `instance` if it
//                                    exists
//     [models.train]                 options of training, which then makes the weights;
//                                    several [[models.train]] make a product of networks
//     [models.otherwise]             options and label in their place if Fashion-MNIST is missing
//     [models.small]                 options and label in their place at scales below `below`
//     [models.modes]                 right = [[x, y], …], wrong = […], radius: cells report the
//                                    share of states at right modes, and when it becomes large
//   [[samplers]]                     more options, among them `sampler`; `label` as above
//   [[claims]]                       the paper's claims about the results (lab/grid/claims.h)
//
// A grid of training cells (learning_grid.h) begins with cells = "train".
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
#include "models/combined/wrong_gradient.h"

namespace isinglass {

struct Cell {
  std::string model = {}, sampler = {};  // These are labels of the entries.
  // Holds the label of the larger model that this one replaces, at a scale that has a smaller one.
  std::string stands_for = {};
  // Holds the options in the sampler's entry other than its name, as texts.
  std::vector<std::pair<std::string, std::string>> settings = {};
  int64_t repeat = 0;
  SampleSpec sampling = {};
  // Holds one resolved spec per network; empty: no training is needed.
  std::vector<TrainSpec> training = {};
  Modes modes = {};  // Holds the modes that the grid names.
  // Counts the model calls of every sampler; 0: samplers make equal numbers of steps.
  int64_t calls = 0;
  // Only a training cell has it, resolved; such a cell has no sampling.
  std::optional<TrainSpec> learning = {};
  // Describes the evaluation of the trained model; the spec does not name the weights.
  std::optional<EvaluateSpec> evaluation = {};
};

// Describes how an option follows the scale: it is multiplied by scale^exponent. Whole numbers are
// rounded; they are not reduced below `least`, unless they are below it as given.
struct ScaleRule {
  std::string option;
  double exponent = 0, least = 0;
};

struct Grid {
  std::string name = {}, title = {};
  std::optional<double> true_mean = {};
  bool reference = false;                 // If true, cells report the MMD to block Gibbs samples.
  std::optional<ImageSize> picture = {};  // Gives the size of states that are images.
  int64_t repeats = 1;
  std::vector<Cell> cells = {};  // The repeats of a setting follow each other.
  std::vector<Claim> claims = {};
  std::string warning = {};           // Says which claim cannot be decided; empty if none is known.
  std::vector<ScaleRule> rules = {};  // A grid of training cells was scaled by these rules.
  // Holds numbers that papers report for the samplers, by name, for the page.
  std::vector<std::pair<std::string, double>> published = {};
  std::string published_unit = "nats";
};

// Holds models in memory, on the device. Each replaces the models of the entries with its label,
// which then name none.
using GivenModels = std::map<std::string, std::shared_ptr<EnergyModel>>;

// Reads the preset or the file and applies the rest of the spec. Relative paths in a file start at
// its folder. Throws Error, naming the entry, for anything that the grid, sampling or training does
// not know or accept.
Grid read_grid(const GridSpec& spec, const GivenModels& given = {});

}  // namespace isinglass
