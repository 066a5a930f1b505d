// Implements lattice_gibbs_steps() on tensors.
#include "kernels/ops/lattice_gibbs.h"

#include "kernels/gibbs/lattice_gibbs.h"
#include "kernels/ops/pointers.h"

namespace isinglass::ops {

void lattice_gibbs_steps(const LatticeTensors& l, int64_t steps, bool systematic, const Tensor& rng,
                         const Tensor& chain_ids, Tensor& x, Tensor& energy, StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  run_twin(x, cpu::lattice_gibbs_steps, cuda::lattice_gibbs_steps, lattice, chains, steps,
           systematic, data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x),
           data<double>(energy), count_pointers(counts, x, chains));
}

}  // namespace isinglass::ops
