// Identifies what the cells of a grid were made with, apart from their settings: the program, the
// data and the files that they name. A finished cell, or a trained model in the cache, counts only
// for the same identity.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/grid.h"

namespace isinglass {

// Returns the cell's settings: {model, sampler, settings, repeat, sampling, training[, learning]}.
// The data's location is left out.
nlohmann::ordered_json cell_settings(const Cell& cell);

// Computes identities. Files and data are read once, as they do not change while a grid runs.
class GridIdentity {
 public:
  explicit GridIdentity(torch::Device device, GivenModels given = {})
      : device_(device), given_(std::move(given)) {}

  // Returns {"program": revision, "device": kind, "measures": what the grid asks of the cell,
  // "sources": {file, data set or given model: SHA-256}}. Data that cannot be read are "missing";
  // the cell itself reports the reason when it runs.
  nlohmann::ordered_json of(const Grid& grid, const Cell& cell);

  // Returns the identity of a network by its resolved spec, 16 hexadecimal digits. With the
  // program, the device and the contents of the data it covers all that decides the network's
  // weights.
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

// Returns in which respect the two different identities differ, for example "the program was 1f2e3d
// and is 4c5b6a".
std::string identity_change(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is);

}  // namespace isinglass
