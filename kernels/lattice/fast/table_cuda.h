// Look-ups in neighbourhood tables (neighbourhood_table.h) by a thread of a GPU.
#pragma once

#include "kernels/base/launch.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cuda {

// Where the neighbourhood of a site of x [D] is in the tables.
__device__ inline int64_t place_of(const NeighbourhoodTable& table, const uint8_t* x,
                                   int64_t site) {
  return site * kNeighbourhoods + neighbourhood_of(table, site, [&](int32_t near) {
           return near < table.sites ? uint32_t{x[near]} : 0u;
         });
}

}  // namespace isinglass::cuda
