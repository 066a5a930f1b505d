// Implements the tensor layer of lattices: it checks tensors, runs the kernels of lattice.h and
// table_evaluate.h, and tabulates neighbourhoods.
#include "kernels/ops/lattice.h"

#include "kernels/lattice/fast/table_evaluate.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

void lattice_evaluate(const LatticeTensors& l, const Tensor& x, bool one_hot, LocalTable what,
                      Tensor& energy, const Tensor& table, Scratch& scratch) {
  const Lattice lattice = lattice_pointers(l, x);
  check(energy, x, torch::kFloat64, x.size(0), "energy");
  if (table.defined()) {
    check(table, x, torch::kFloat32, x.numel() * (one_hot ? lattice.categories : 1), "table");
  }
  const int64_t parts = lattice_parts(lattice.sites);
  auto* part_sums = scratch.numbers<double>(x, x.is_cuda() && parts > 1 ? parts * x.size(0) : 0);
  const bool looked_up =
      x.is_cuda() && !one_hot && what == LocalTable::kGradient && l.neighbourhoods.defined();
  if (looked_up) {
    const auto no_cpu = [](auto&&...) {};
    return run_twin(x, no_cpu, cuda::table_evaluate, neighbourhood_pointers(l.neighbourhoods, x),
                    x.size(0), data<uint8_t>(x), data<double>(energy), data<float>(table),
                    part_sums);
  }
  run_twin(x, cpu::lattice_evaluate, cuda::lattice_evaluate, lattice, x.size(0), data<uint8_t>(x),
           one_hot, what, data<double>(energy), data<float>(table), part_sums);
}

void lattice_differences(const LatticeTensors& l, const Tensor& x, const Tensor& site,
                         Tensor& difference) {
  const Lattice lattice = lattice_pointers(l, x);
  check(site, x, torch::kInt64, x.size(0), "site");
  check(difference, x, torch::kFloat64, x.size(0) * lattice.categories, "difference");
  run_twin(x, cpu::lattice_differences, cuda::lattice_differences, lattice, x.size(0),
           data<uint8_t>(x), data<int64_t>(site), data<double>(difference));
}

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
