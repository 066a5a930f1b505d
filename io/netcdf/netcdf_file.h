// NetCDF-4 files: arrays with named dimensions, in groups. HDF5 writes them, from a library of its
// own (netcdf_module.cpp) that is loaded when it is first needed.
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
  // uint8, int64, float32 or float64, of two or three dimensions, neither of them empty. In the
  // file the first two trade places: a run makes draws of all chains, the file holds chains of all
  // draws.
  torch::Tensor values;
};

struct NetcdfGroup {
  std::string name;
  std::vector<NetcdfVariable> variables;
};

using NetcdfAttributes = std::vector<std::pair<std::string, std::variant<std::string, int64_t>>>;

// Throws Error if the library that writes them is not beside the program (as in the archive for
// other machines).
void require_netcdf();

// The groups, each with all the attributes and a coordinate 0, 1, … a dimension; the file appears
// whole or not at all. Throws Error as require_netcdf, and if the file cannot be written.
void write_netcdf(const std::filesystem::path& file, const std::vector<NetcdfGroup>& groups,
                  const NetcdfAttributes& attributes);

}  // namespace isinglass
