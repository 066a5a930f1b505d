// Implements the tensor layer of lattices: it checks tensors, runs the kernels of lattice.h and
// table_evaluate.h, tabulates neighbourhoods, and evaluates dense lattices by matrix products.
#include "kernels/ops/lattice.h"

#include <cmath>

#include "kernels/lattice/exact_sums_cpu.h"
#include "kernels/lattice/fast/products_cpu.h"
#include "kernels/lattice/fast/table_evaluate.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

namespace {

// Limits the matrix of couplings to half a GiB.
constexpr int64_t kMostProductSites = 8192;
// So many sites of a product take the time of one neighbour in a sum.
constexpr int64_t kProductSites = 8;

// Evaluates a lattice on the CPU: Σ_j c_ij x_j of all sites and chains is one matrix product.
void evaluate_products(const LatticeTensors& l, const Lattice& lattice, const Tensor& x,
                       bool one_hot, LocalTable what, Tensor& energy, const Tensor& table,
                       Scratch& scratch) {
  const int64_t chains = x.size(0);
  const auto evaluate = [&]<class T>(T) {
    const Tensor memory = scratch_tensor<T>(scratch, {2, chains, lattice.sites}, x);
    Tensor value = memory[0], sum = memory[1];
    value.copy_(x);
    at::mm_out(sum, value, l.products.coupling);
    cpu::evaluate_products(lattice, data<double>(l.products.total), chains, data<uint8_t>(x),
                           data<T>(sum), one_hot, what, data<double>(energy), data<float>(table));
  };
  l.products.coupling.scalar_type() == torch::kFloat32 ? evaluate(float{}) : evaluate(double{});
}

}  // namespace

void lattice_evaluate(const LatticeTensors& l, const Tensor& x, bool one_hot, LocalTable what,
                      Tensor& energy, const Tensor& table, Scratch& scratch) {
  const Lattice lattice = lattice_pointers(l, x);
  check(energy, x, torch::kFloat64, x.size(0), "energy");
  if (table.defined()) {
    check(table, x, torch::kFloat32, x.numel() * (one_hot ? lattice.categories : 1), "table");
  }
  if (x.is_cpu() && l.products.defined()) {
    return evaluate_products(l, lattice, x, one_hot, what, energy, table, scratch);
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

void round_for_exact_sums(LatticeTensors& l) {
  l.exact_sums = false;
  if (!l.unary.is_cpu()) return;
  const int64_t sites = l.unary.size(0);
  const Lattice lattice = lattice_pointers(l, torch::empty({0, sites}, torch::kUInt8));
  const Tensor unary = torch::empty_like(l.unary), coupling = torch::empty_like(l.coupling);
  l.exact_sums = cpu::round_for_exact_sums(lattice, data<double>(unary), data<double>(coupling));
  if (!l.exact_sums) return;
  l.unary = unary;
  l.coupling = coupling;
}

bool uses_products(const LatticeTensors& l) {
  const int64_t sites = l.unary.size(0);
  return l.exact_sums && l.unary.is_cpu() && sites <= kMostProductSites &&
         kProductSites * l.neighbour.numel() >= sites * sites;
}

ProductTensors make_products(const LatticeTensors& l) {
  if (!uses_products(l)) return {};
  const int64_t sites = l.unary.size(0);
  const Tensor site = torch::repeat_interleave(torch::arange(sites), l.offset.diff());
  const Tensor dense = torch::zeros({sites * sites}, torch::kFloat64)
                           .index_add_(0, site * sites + l.neighbour, l.coupling)
                           .view({sites, sites});
  // Sums of multiples of q = 2^(e − 23) that are below 2^e are exact in float32 as well.
  const auto largest = dense.abs().sum(1).max().item<double>();
  const Tensor in_units = dense * std::ldexp(1, 22 - std::ilogb(std::fmax(largest, 1e-200)));
  const bool in_float = in_units.equal(in_units.round());
  return {dense.to(in_float ? torch::kFloat32 : torch::kFloat64), dense.sum(1)};
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
