// Lists the pairs of an image's sites that a pairwise model couples.
#pragma once

#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// kAll couples all pairs; kGrid couples nearest neighbours with open boundaries, kTorus with
// periodic ones.
enum class EdgeSet { kAll, kGrid, kTorus };
const std::vector<std::string>& edge_set_names();  // in the order of EdgeSet
EdgeSet edge_set(const std::string& name);  // the set of that name, which must be one of the names

// Returns the edges int64 [E, 2] of the sites in row-major order. Each pair occurs once, except
// that a periodic side of length two couples its pairs twice.
torch::Tensor edges_of(EdgeSet set, int64_t height, int64_t width);

}  // namespace isinglass
