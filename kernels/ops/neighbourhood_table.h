// Tensors of neighbourhood_table.h: binary graphs of few neighbours.
#pragma once

#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// On the device, those of a lattice that is on a CPU; undefined tensors where it has none.
NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& lattice, torch::Device device);

}  // namespace isinglass::ops
