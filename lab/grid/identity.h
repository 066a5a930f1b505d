// What the cells of a grid are of, beside their settings: the program, the data and the files that
// they name. A finished cell, or a trained model in the cache, counts only for the same.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/grid.h"

namespace isinglass {

// The cell as its spec says it: {model, sampler, settings, repeat, sampling, training[, learning]}. Where data
// lie is no matter.
nlohmann::ordered_json cell_settings(const Cell& cell);

// Files and data are read once; they do not change while a grid runs.
class GridIdentity {
 public:
  explicit GridIdentity(torch::Device device, GivenModels given = {})
      : device_(device), given_(std::move(given)) {}

  // {"program": revision, "device": its kind, "measures": what the grid asks of the cell, "sources": {file,
  // data set or given model: SHA-256}}. Data that cannot be read are "missing": the cell itself says so
  // when it runs.
  nlohmann::ordered_json of(const Grid& grid, const Cell& cell);

  // Of a network by its resolved spec: with the program, the device and what the data hold, all
  // that decides its weights. 16 hexadecimal digits.
  std::string of_training(const TrainSpec& training);

 private:
  const std::string& known(const std::string& what, const std::function<std::string()>& hash);
  void add_files(const OptionTable& table, const OptionValues& values,
                 nlohmann::ordered_json& sources);
  void add_sources(const SampleSpec& sampling, nlohmann::ordered_json& sources);
  void add_sources(const TrainSpec& training, nlohmann::ordered_json& sources);

  torch::Device device_;
  GivenModels given_;
  std::map<std::string, std::string> known_;
};

// Why a cell of the one identity does not serve as one of the other, which differs: "the program
// was 1f2e3d and is 4c5b6a".
std::string identity_change(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is);

}  // namespace isinglass
