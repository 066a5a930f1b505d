// See chromatic.h.
#include "kernels/ops/chromatic.h"

#include "kernels/gibbs/chromatic.h"
#include "kernels/gibbs/fast/chromatic_table_cpu.h"
#include "kernels/ops/pointers.h"

namespace isinglass::ops {

void chromatic_sweep(const LatticeTensors& l, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta, Tensor& x, Tensor& energy,
                     StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(l.colour_offset, x, torch::kInt64, l.colour_offset.numel(), "colour_offset");
  check(l.coloured, x, torch::kInt32, lattice.sites, "coloured");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  if (beta.defined()) check(beta, x, torch::kFloat64, chains, "beta");
  const Colouring colouring{l.colour_offset.numel() - 1, data<int64_t>(l.colour_offset),
                            data<int32_t>(l.coloured)};
  if (x.is_cpu() && l.neighbourhoods.defined() && !beta.defined()) {
    return cpu::table_sweep(neighbourhood_pointers(l.neighbourhoods, x), colouring, chains, steps,
                            data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x),
                            data<double>(energy), count_pointers(counts, x, chains));
  }
  run_twin(x, cpu::chromatic_sweep, cuda::chromatic_sweep, lattice, colouring, chains, steps,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<double>(beta), data<uint8_t>(x),
           data<double>(energy), count_pointers(counts, x, chains));
}

}  // namespace isinglass::ops
