// A cell of a grid: one run of a sampler on a model (cli/sampling.h), and what is measured of it.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/grid.h"
#include "cli/grid_identity.h"
#include "lab/grid/ground_truth.h"
#include "cli/options/options.h"
#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

// Models of a grid's cells, of which the latest is kept: trained ones come from the cache folder,
// where they lie by their identity (cli/grid_identity.h), or are trained into it first.
class GridModels {
 public:
  GridModels(std::filesystem::path cache, GridIdentity& identity, torch::Device device);

  // The model; its ground truth, if the grid wants one; modes that are known.
  struct Target {
    std::shared_ptr<EnergyModel> model;
    GroundTruth reference;
    Modes modes;
  };
  const Target& target(const Cell& cell, bool with_reference);

 private:
  // The weights of a network by its flags of training; trains it if the cache lacks it.
  std::filesystem::path trained(const Flags& training);
  // What the cell's training makes, as options of its model.
  void set_trained(const Cell& cell, Options& options);

  std::filesystem::path cache_;
  GridIdentity& identity_;
  torch::Device device_;
  std::string latest_;
  Target target_;
};

// Runs the cell; while its chains have not converged (R̂ above 1.05 or undefined) and the next run, of
// twice the length, fits into `until_converged` seconds, runs it longer; the last run is the one that
// counts, so that nothing is chosen by its outcome but its length. Returns {status, metrics, summary, trace, autocorrelation[, mmd_trace,
// mode_trace, picture]}, or, where it fails, {status: "failed", error}. Throws Interrupted only.
nlohmann::ordered_json run_cell(const Grid& grid, const Cell& cell, GridModels& models,
                                torch::Device device, double until_converged = 0);

}  // namespace isinglass
