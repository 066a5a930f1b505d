#include "train/data/formats/mat_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "io/beside.h"
#include "io/error.h"
#include "train/data/formats/mat_module.h"

namespace isinglass {

namespace fs = std::filesystem;

torch::Tensor read_mat_array(const fs::path& file, const std::string& name) {
  const std::vector<MatArray> arrays = check_mat_file(file);
  std::vector<std::string> names;
  for (const MatArray& array : arrays) names.push_back(array.name);
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "{} has no numeric array '{}'; it has: {}", file.string(), name,
          fmt::join(names, ", "));
  const std::vector<int64_t>& shape = arrays[found - names.begin()].shape;
  // Column-major is the row-major array of the reversed shape.
  torch::Tensor values =
      torch::empty(std::vector<int64_t>(shape.rbegin(), shape.rend()), torch::kFloat64);
  static auto* const read = reinterpret_cast<MatRead*>(symbol_beside(
      kMatLibrary, kMatReadSymbol, fmt::format("reading {}", file.string()), "libmatio11"));
  const char* problem = read(file.c_str(), name.c_str(), static_cast<size_t>(values.numel()),
                             values.data_ptr<double>());
  require(problem == nullptr, "{}: array '{}' cannot be read: {}", file.string(), name, problem);
  std::vector<int64_t> reversed(shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return values.permute(reversed);
}

torch::Tensor mat_images(const fs::path& file, const torch::Tensor& array, int64_t side) {
  const int64_t sites = side * side;
  const bool rows = array.dim() == 2 && array.size(1) == sites;
  require(rows || (array.dim() == 2 && array.size(0) == sites),
          "{} holds an array of {}; expected Nx{} or {}xN", file.string(),
          fmt::join(array.sizes(), "x"), sites, sites);
  const torch::Tensor images = rows ? array : array.t();
  return images.reshape({-1, side, side}).transpose(1, 2).reshape({-1, sites});
}

}  // namespace isinglass
