// The models of a grid's cells, of which the latest is kept: trained ones come from the cache
// folder, where they lie by their identity (identity.h), or are trained into it first.
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

// isinglass/ of the user's cache ($XDG_CACHE_HOME, else ~/.cache). Throws Error without either.
std::filesystem::path default_cache();

class GridModels {
 public:
  GridModels(std::filesystem::path cache, GridIdentity& identity, torch::Device device,
             Stop stop = {}, GivenModels given = {});

  // The model; its ground truth, if the grid wants one; modes that are known.
  struct Target {
    std::shared_ptr<EnergyModel> model;
    GroundTruth reference;
    Modes modes;
  };
  // Throws Interrupted if it was stopped.
  const Target& target(const Cell& cell, bool with_reference);

 private:
  // The weights of a network by its spec; trains it if the cache lacks it, from the latest
  // checkpoint of a training that was interrupted, or waits for another process that does.
  std::filesystem::path trained(const TrainSpec& training);
  void train(const TrainSpec& training, const std::filesystem::path& directory) const;
  // The cell's model, made of what its training makes.
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
