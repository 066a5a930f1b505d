// Implements the draws and the sweeps of a base.
#include "engine/run/base_draws.h"

#include "io/error.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/random.h"
#include "kernels/random/streams.h"
#include "models/exact_samples.h"

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

bool has_base_draws(EnergyModel& base) {
  return base.sweeps() || exact_samples_of(base);
}

torch::Tensor base_draws(EnergyModel& base, const torch::Tensor& chain_ids, uint64_t seed) {
  if (const HasExactSamples* exact = exact_samples_of(base)) {
    return exact->exact_samples(chain_ids, seed);
  }
  require(
      base.sweeps(),
      "annealing from the base {} needs draws from it, but it has neither exact draws nor Gibbs "
      "sweeps",
      base.title());
  const StateSpace space = base.space();
  torch::Tensor x =
      torch::empty({chain_ids.size(0), space.sites}, chain_ids.options().dtype(space.dtype()));
  ops::uniform_rows(space.categories, chain_ids, static_cast<int64_t>(seed), 0,
                    Purpose::kInitialState, x);
  sweep_base(base, chain_ids, seed ^ inner_key_bits(kInnerKeys - 1), 0, kBaseSweeps, x);
  return x;
}

}  // namespace isinglass
