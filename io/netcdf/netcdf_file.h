// Writes NetCDF-4 files: arrays with named dimensions, in groups. The files are written by HDF5,
// which is in a separate library (netcdf_module.cpp) that is loaded on first use.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct NetcdfVariable {
  std::string name;
  std::vector<std::string> dimensions;
  // The values are uint8, int64, float32 or float64, with two or three non-empty dimensions. In the
  // file the first two dimensions are swapped: a run produces draws × chains, the file holds chains
  // × draws.
  torch::Tensor values;
};

struct NetcdfGroup {
  std::string name;
  std::vector<NetcdfVariable> variables;
};

using NetcdfAttributes = std::vector<std::pair<std::string, std::variant<std::string, int64_t>>>;

// Throws Error if the library that writes the files is not in the program's directory (as in the
// archive for other machines).
void require_netcdf();

// Writes the groups. Each gets all the attributes, and a coordinate variable 0, 1, … for every
// dimension. The file appears whole or not at all. Throws Error as require_netcdf() does, and if
// the file cannot be written.
void write_netcdf(const std::filesystem::path& file, const std::vector<NetcdfGroup>& groups,
                  const NetcdfAttributes& attributes);

}  // namespace isinglass
