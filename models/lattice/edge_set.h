// Which sites of an image a pairwise model joins.
#pragma once

#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// All pairs; or the neighbours, with open or with periodic boundaries.
enum class EdgeSet { kAll, kGrid, kTorus };
const std::vector<std::string>& edge_set_names();  // in this order
EdgeSet edge_set(const std::string& name);         // one of them

// int64 [E, 2] of sites in rows, each pair once; a periodic side of two joins its own twice.
torch::Tensor edges_of(EdgeSet set, int64_t height, int64_t width);

}  // namespace isinglass
