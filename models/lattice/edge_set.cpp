// Implements the edge sets of an image.
#include "models/lattice/edge_set.h"

#include <algorithm>

#include "models/lattice/axis_pairs.h"

namespace isinglass {

const std::vector<std::string>& edge_set_names() {
  static const std::vector<std::string> names = {"all", "grid", "torus"};
  return names;
}

EdgeSet edge_set(const std::string& name) {
  const auto& names = edge_set_names();
  const auto found = std::find(names.begin(), names.end(), name);
  TORCH_INTERNAL_ASSERT(found != names.end(), name);
  return static_cast<EdgeSet>(found - names.begin());
}

torch::Tensor edges_of(EdgeSet set, int64_t height, int64_t width) {
  const int64_t sites = height * width;
  if (set == EdgeSet::kAll) return torch::combinations(torch::arange(sites), 2);
  const torch::Tensor site = torch::arange(sites).view({height, width});
  std::vector<torch::Tensor> pairs;
  for (const int64_t axis : {0, 1}) {
    pairs.push_back(axis_pairs(site, axis, set == EdgeSet::kTorus));
  }
  return torch::cat(pairs);
}

}  // namespace isinglass
