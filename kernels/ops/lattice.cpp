// Implements the tensor layer of lattice energies: it checks tensors, runs the kernels of lattice.h
// and table_evaluate.h, and registers the torch operators.
#include "kernels/ops/lattice.h"

#include "kernels/lattice/fast/table_evaluate.h"
#include "kernels/ops/pointers.h"

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

namespace {

// A torch operator takes plain tensors and numbers. These adapters convert them to the arguments of
// the functions above.

void lattice_evaluate_op(const Tensor& unary, const Tensor& offset, const Tensor& neighbour,
                         const Tensor& coupling, double constant, const Tensor& x, bool one_hot,
                         bool differences, Tensor energy, Tensor table) {
  Scratch scratch;
  lattice_evaluate({unary, offset, neighbour, coupling, constant}, x, one_hot,
                   differences ? LocalTable::kDifferences : LocalTable::kGradient, energy, table,
                   scratch);
}

void lattice_differences_op(const Tensor& unary, const Tensor& offset, const Tensor& neighbour,
                            const Tensor& coupling, const Tensor& x, const Tensor& site,
                            Tensor difference) {
  lattice_differences({unary, offset, neighbour, coupling, 0}, x, site, difference);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "lattice_evaluate(Tensor unary, Tensor offset, Tensor neighbour, Tensor coupling, float "
      "constant, Tensor x, bool one_hot, bool differences, Tensor(a!) energy, Tensor(b!) table) -> "
      "()",
      on_all_devices(lattice_evaluate_op));
  m.def(
      "lattice_differences(Tensor unary, Tensor offset, Tensor neighbour, Tensor coupling, Tensor "
      "x, Tensor site, Tensor(a!) difference) -> ()",
      on_all_devices(lattice_differences_op));
}

}  // namespace isinglass::ops
