// Implements the tabulation of neighbourhoods into tensors.
#include "kernels/ops/neighbourhood_table.h"

#include "kernels/ops/pointers.h"

namespace isinglass::ops {

NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& l, torch::Device device) {
  const int64_t sites = l.unary.size(0);
  const Lattice lattice = lattice_pointers(l, torch::empty({0, sites}, torch::kUInt8));
  if (!cpu::has_neighbourhood_table(lattice)) return {};
  NeighbourhoodTensors p{torch::empty({sites, kTableNeighbours}, torch::kInt32),
                         torch::empty({sites, kNeighbourhoods}, torch::kFloat64),
                         torch::empty({sites, kNeighbourhoods}, torch::kFloat64),
                         torch::empty({sites, kNeighbourhoods}, torch::kFloat32),
                         torch::empty({sites, kNeighbourhoods}, torch::kUInt32)};
  p.constant = cpu::tabulate_neighbourhoods(
      lattice, {data<int32_t>(p.neighbour), data<double>(p.flip_energy), data<double>(p.half_flip),
                data<float>(p.gradient), data<uint32_t>(p.threshold_word)});
  for (Tensor* table :
       {&p.neighbour, &p.flip_energy, &p.half_flip, &p.gradient, &p.threshold_word}) {
    *table = table->to(device);
  }
  return p;
}

}  // namespace isinglass::ops
