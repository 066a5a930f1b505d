// Pairs of neighbours along one axis of a lattice.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns the pairs int64 [P, 2] of sites that follow one another along `axis` of `sites`, which
// holds the number of every site. A periodic side also joins its last site to its first; one of
// length two thus joins its pairs twice, and one of length one joins none.
inline torch::Tensor axis_pairs(const torch::Tensor& sites, int64_t axis, bool periodic) {
  const int64_t side = sites.size(axis);
  const int64_t kept = periodic && side > 1 ? side : side - 1;
  return torch::stack(
      {sites.slice(axis, 0, kept).flatten(), sites.roll(-1, axis).slice(axis, 0, kept).flatten()},
      1);
}

}  // namespace isinglass
