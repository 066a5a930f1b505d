// Creates the tables of neighbourhood_table.h, for binary graphs with few neighbours, as tensors.
#pragma once

#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// Returns the tables on `device`, for a lattice on the CPU; undefined tensors if it can have none.
NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& lattice, torch::Device device);

}  // namespace isinglass::ops
