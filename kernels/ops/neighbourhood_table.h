// Tensors of neighbourhood_table.h: binary graphs of few neighbours.
#pragma once

#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// The lattice's neighbourhoods, made on a CPU; undefined tensors where it has none.
NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& lattice);

}  // namespace isinglass::ops
