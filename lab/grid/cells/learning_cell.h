// A cell of a grid that learns: a run of training (lab/run/training.h) in a directory of its own, and the
// evaluation of what it has learned (lab/evaluation/likelihood_evaluation.h) if the grid asks for one.
// Both go on from their latest checkpoints if the grid is killed.
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

// The data of the grid's cells, of which the latest are kept.
class GridData {
 public:
  const Dataset& of(const DataSpec& data);

 private:
  std::string latest_;
  Dataset data_;
};

// What a run learned, best.pt or ema.pt of its directory: the averages that validated best, or the
// last ones where nothing was validated or the last score's annealing weights do not suffice. A
// sharp model is hard to anneal, so that the best of those that suffice would be an early one.
std::filesystem::path parameters_to_evaluate(const std::filesystem::path& directory);

// cell.json of a training of something else that the directory holds; none if there is none.
std::optional<nlohmann::ordered_json> other_training(const std::filesystem::path& directory,
                                                     const nlohmann::ordered_json& settings);

// Trains in the directory, whose cell.json says of what it is, and goes on there if it is of this
// very cell; it may hold no other_training(). on_kept is called after every checkpoint. Returns
// {status, metrics, curves[, picture, evaluation_result]}, or, where it fails or diverges for good,
// {status: "failed", error, metrics}: without metrics it fails for a reason outside of the
// training, and its checkpoints stay. Else weights, metrics and log alone do. Throws Interrupted
// only.
nlohmann::ordered_json run_learning_cell(const Cell& cell, const nlohmann::ordered_json& settings,
                                         const std::filesystem::path& directory, GridData& data,
                                         torch::Device device, const Stop& stop = {},
                                         const std::function<void()>& on_kept = {});

}  // namespace isinglass
