// Implements the sweeps of a base.
#include "engine/annealing/base_sweeps.h"

#include "kernels/ops/metropolis.h"

namespace isinglass {

void sweep_base(EnergyModel& base, const torch::Tensor& chain_ids, uint64_t key, int64_t first_step,
                int64_t sweeps, torch::Tensor& x) {
  const torch::NoGradGuard no_grad;
  Evaluation at;
  base.evaluate_energy(x, at);
  const auto whole = chain_ids.options().dtype(torch::kInt64);
  torch::Tensor rng =
      torch::tensor({static_cast<int64_t>(key), first_step}, torch::kInt64).to(chain_ids.device());
  const auto real = whole.dtype(torch::kFloat64);
  const int64_t chains = chain_ids.size(0);
  ops::StepBuffers counts{torch::zeros({chains}, real), torch::zeros({chains}, whole),
                          torch::zeros({chains}, real), torch::zeros({chains}, whole),
                          torch::zeros({chains}, whole)};
  for (int64_t t = 0; t < sweeps; ++t) {
    base.sweeps()->gibbs_sweeps(1, rng, chain_ids, x, at, counts);
    ops::advance(rng);
  }
}

}  // namespace isinglass
