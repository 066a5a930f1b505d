// What the cells of a grid are of, beside their flags: the program, the data and the files that the
// flags name. A finished cell, or a trained model in the cache, counts only for the same.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/grid.h"
#include "io/torch.h"

namespace isinglass {

// Files and data are read once; they do not change while a grid runs.
class GridIdentity {
 public:
  explicit GridIdentity(torch::Device device) : device_(device) {}

  // {"program": revision, "sources": {file or data set: SHA-256}}. Data that cannot be read are
  // "missing": the cell itself says so when it runs.
  nlohmann::ordered_json of(const Cell& cell);

  // Of a network by its flags of training: with the program, the device and what the data hold, all
  // that decides its weights. 16 hexadecimal digits.
  std::string of_training(const Flags& training);

 private:
  void add_sources(const std::string& command, const Flags& flags, nlohmann::ordered_json& sources);
  const std::string& known(const std::string& what, const std::function<std::string()>& hash);

  torch::Device device_;
  std::map<std::string, std::string> known_;
};

// Why a cell of the one identity does not serve as one of the other, which differs: "the program
// was 1f2e3d and is 4c5b6a".
std::string identity_change(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is);

}  // namespace isinglass
