// Implements random initial states.
#include "engine/run/initial_states.h"

#include "engine/run/base_draws.h"
#include "kernels/ops/random.h"
#include "models/bounds.h"
#include "models/on_base.h"

namespace isinglass {

torch::Tensor random_states(const StateSpace& space, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device) {
  torch::Tensor x = torch::empty({chain_ids.size(0), space.sites},
                                 torch::TensorOptions(space.dtype()).device(device));
  const torch::Tensor ids = chain_ids.to(device);
  const auto key = static_cast<int64_t>(seed);
  if (space.kind == StateKind::kPermutation) {
    ops::permutation_rows(ids, key, 0, Purpose::kInitialState, x);
  } else if (!space.discrete()) {
    ops::normal_rows(ids, key, 0, Purpose::kInitialState, x);
  } else {
    ops::uniform_rows(space.categories, ids, key, 0, Purpose::kInitialState, x);
  }
  return x;
}

torch::Tensor random_states(const EnergyModel& model, const torch::Tensor& chain_ids, uint64_t seed,
                            torch::Device device) {
  if (const HasBase* built = on_base(model)) {
    EnergyModel& base = *const_cast<HasBase*>(built)->base();
    if (has_base_draws(base)) return base_draws(base, chain_ids.to(device), seed);
  }
  torch::Tensor x = random_states(model.space(), chain_ids, seed, device);
  if (const std::optional<Bounds> bounds = bounds_of(model)) make_uniform(*bounds, x);
  return x;
}

}  // namespace isinglass
