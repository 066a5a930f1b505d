// See lattice.h.
#include "kernels/ops/lattice.h"

#include "kernels/gibbs/chromatic.h"
#include "kernels/ops/counts.h"
#include "kernels/ops/lattice_pointers.h"
#include "kernels/ops/neighbourhood_pointers.h"

namespace isinglass::ops {

void lattice_evaluate(const LatticeTensors& l, const Tensor& x, bool one_hot, SiteTable what,
                      Tensor& energy, const Tensor& table) {
  const Lattice lattice = lattice_pointers(l, x);
  check(energy, x, torch::kFloat64, x.size(0), "energy");
  if (table.defined()) {
    check(table, x, torch::kFloat32, x.numel() * (one_hot ? lattice.categories : 1), "table");
  }
  run_twin(x, cpu::lattice_evaluate, cuda::lattice_evaluate, lattice, x.size(0), data<uint8_t>(x),
           one_hot, what, data<double>(energy), data<float>(table));
}

void lattice_differences(const LatticeTensors& l, const Tensor& x, const Tensor& site,
                         Tensor& difference) {
  const Lattice lattice = lattice_pointers(l, x);
  check(site, x, torch::kInt64, x.size(0), "site");
  check(difference, x, torch::kFloat64, x.size(0) * lattice.categories, "difference");
  run_twin(x, cpu::lattice_differences, cuda::lattice_differences, lattice, x.size(0),
           data<uint8_t>(x), data<int64_t>(site), data<double>(difference));
}

void chromatic_sweep(const LatticeTensors& l, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, Tensor& x, Tensor& energy, StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(l.colour_offset, x, torch::kInt64, l.colour_offset.numel(), "colour_offset");
  check(l.coloured, x, torch::kInt32, lattice.sites, "coloured");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  const Colouring colouring{l.colour_offset.numel() - 1, data<int64_t>(l.colour_offset),
                            data<int32_t>(l.coloured)};
  if (x.is_cpu() && l.patterns.defined()) {
    return cpu::pattern_sweep(pattern_pointers(l.patterns, x), colouring, chains, steps,
                              data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x),
                              data<double>(energy), count_pointers(counts, x, chains));
  }
  run_twin(x, cpu::chromatic_sweep, cuda::chromatic_sweep, lattice, colouring, chains, steps,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x), data<double>(energy),
           count_pointers(counts, x, chains));
}

namespace {

// The operators' schemas hold plain tensors and numbers; these adapters group them.

void lattice_evaluate_op(const Tensor& unary, const Tensor& offset, const Tensor& neighbour,
                         const Tensor& coupling, double constant, const Tensor& x, bool one_hot,
                         bool differences, Tensor energy, Tensor table) {
  lattice_evaluate({unary, offset, neighbour, coupling, constant}, x, one_hot,
                   differences ? SiteTable::kDifferences : SiteTable::kGradient, energy, table);
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
      "()");
  m.def(
      "lattice_differences(Tensor unary, Tensor offset, Tensor neighbour, Tensor coupling, Tensor "
      "x, Tensor site, Tensor(a!) difference) -> ()");
}

// One function serves both keys: it picks the twin by its tensors' device.
TORCH_LIBRARY_IMPL(isinglass, CPU, m) {
  m.impl("lattice_evaluate", &lattice_evaluate_op);
  m.impl("lattice_differences", &lattice_differences_op);
}
TORCH_LIBRARY_IMPL(isinglass, CUDA, m) {
  m.impl("lattice_evaluate", &lattice_evaluate_op);
  m.impl("lattice_differences", &lattice_differences_op);
}

}  // namespace isinglass::ops
