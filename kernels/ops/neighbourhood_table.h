// Tensors of neighbourhood_table.h: binary graphs of few neighbours, on a CPU.
#pragma once

#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// The lattice's neighbourhoods; undefined tensors where it has none, or is not on a CPU.
NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& lattice);

}  // namespace isinglass::ops
