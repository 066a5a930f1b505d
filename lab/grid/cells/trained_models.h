// Provides the models of a grid's cells and keeps the latest. Trained models come from the cache
// folder, where they are stored by their identity (identity.h), and are trained into it first if it
// lacks them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/torch.h"
#include "lab/grid/cells/ground_truth.h"
#include "lab/grid/grid.h"
#include "lab/grid/identity.h"
#include "lab/run/assemble.h"
#include "models/energy_model.h"

namespace isinglass {

// Returns the folder isinglass/ in the user's cache ($XDG_CACHE_HOME, else ~/.cache). Throws Error
// if neither variable is set.
std::filesystem::path default_cache();

class GridModels {
 public:
  GridModels(std::filesystem::path cache, GridIdentity& identity, torch::Device device,
             Stop stop = {}, GivenModels given = {});

  // Holds the model, its ground truth if the grid wants one, and its known modes.
  struct Target {
    std::shared_ptr<EnergyModel> model;
    GroundTruth reference;
    Modes modes;
  };
  // Returns the cell's target. Throws Interrupted if it was stopped.
  const Target& target(const Cell& cell, bool with_reference);

 private:
  // Returns the weights of a network by its spec. If the cache lacks them, trains the network, from
  // the latest checkpoint of an interrupted training if there is one, or waits for another process
  // that is training it.
  std::filesystem::path trained(const TrainSpec& training);
  void train(const TrainSpec& training, const std::filesystem::path& directory) const;
  // Returns the cell's model spec with the networks that its training produces.
  ModelSpec with_trained(const Cell& cell);

  std::filesystem::path cache_;
  GridIdentity& identity_;
  torch::Device device_;
  Stop stop_;
  GivenModels given_;
  std::string latest_;
  Target target_;
};

}  // namespace isinglass
