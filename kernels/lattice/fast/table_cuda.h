// Looks up neighbourhood tables (neighbourhood_table.h) from a thread of a GPU.
#pragma once

#include "kernels/base/launch.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cuda {

// Returns the neighbourhood of a site of x [D].
__device__ inline uint32_t neighbourhood_at(const NeighbourhoodTable& table, const uint8_t* x,
                                            int64_t site) {
  return neighbourhood_of(
      table, site, [&](int32_t near) { return near < table.sites ? uint32_t{x[near]} : 0u; });
}

// Returns the index of that neighbourhood in the tables [D, 16].
__device__ inline int64_t place_of(const NeighbourhoodTable& table, const uint8_t* x,
                                   int64_t site) {
  return site * kNeighbourhoods + neighbourhood_at(table, x, site);
}

}  // namespace isinglass::cuda
