#include "train/datasets/mat_file.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "io/error.h"
#include "train/datasets/mat_module.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// The library stays loaded for the life of the program: HDF5 cannot be unloaded safely.
MatRead* load_module(const fs::path& file) {
  const fs::path library = fs::read_symlink("/proc/self/exe").parent_path() / kMatLibrary;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fail("{} needs {} beside the program and Debian's package libmatio11 to be read: {}",
         file.string(), kMatLibrary, dlerror());
  }
  auto* read = reinterpret_cast<MatRead*>(dlsym(handle, kMatReadSymbol));
  require(read != nullptr, "{} is not the library of this program: it lacks {}", library.string(),
          kMatReadSymbol);
  return read;
}

}  // namespace

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
  static MatRead* const read = load_module(file);
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
