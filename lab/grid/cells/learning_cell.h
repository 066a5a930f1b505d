// Runs a training cell of a grid. The cell is a run of training (lab/run/training.h) in a directory
// of its own, followed by an evaluation of the trained model
// (lab/evaluation/likelihood_evaluation.h) if the grid asks for one. Both resume from their latest
// checkpoints if the grid is killed.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/context.h"
#include "lab/grid/grid.h"
#include "lab/run/assemble.h"

namespace isinglass {

// Loads the data of the grid's cells and keeps the data set used last.
class GridData {
 public:
  const Dataset& of(const DataSpec& data);

 private:
  std::string latest_;
  Dataset data_;
};

// Returns the parameters to evaluate, best.pt or ema.pt of the run's directory. best.pt holds the
// averaged parameters with the best validation score. ema.pt, the last averages, is taken if
// nothing was validated or if the annealing weights of the last score had too small an ESS: a sharp
// model is hard to anneal, so that the best among the scores with enough ESS would be an early one.
std::filesystem::path parameters_to_evaluate(const std::filesystem::path& directory);

// Returns cell.json of the directory if it belongs to another training, or nothing.
std::optional<nlohmann::ordered_json> other_training(const std::filesystem::path& directory,
                                                     const nlohmann::ordered_json& settings);

// Trains in the directory, whose cell.json identifies the cell, and resumes if the directory
// belongs to this very cell; it must not hold another training (other_training()). Calls on_kept
// after every checkpoint. Returns {status, metrics, curves[, picture, evaluation_result]} or, if
// the cell fails or diverges for good, {status: "failed", error, metrics}. Without metrics the
// failure has a cause outside of the training, and its checkpoints are kept; otherwise only
// weights, metrics and log are kept. Throws Interrupted only.
nlohmann::ordered_json run_learning_cell(const Cell& cell, const nlohmann::ordered_json& settings,
                                         const std::filesystem::path& directory, GridData& data,
                                         torch::Device device, const Stop& stop = {},
                                         const std::function<void()>& on_kept = {});

}  // namespace isinglass
