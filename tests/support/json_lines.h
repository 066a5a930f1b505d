// Reads files with one JSON object per line, such as the metrics of a training.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace isinglass {

inline std::vector<nlohmann::json> json_lines(const std::filesystem::path& file) {
  std::istringstream in(file_bytes(file));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace isinglass
