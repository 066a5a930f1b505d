// Models from which independent states can be drawn exactly.
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

class HasExactSamples {
 public:
  virtual ~HasExactSamples() = default;
  // Whether this one's size allows it.
  virtual bool has_exact_samples() const { return true; }
  // One a chain id (int64 [N]), by it and the seed: [N, D], of the space's dtype.
  virtual torch::Tensor exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const = 0;
};

// Null: the model has none.
inline const HasExactSamples* exact_samples_of(const EnergyModel& model) {
  const auto* exact = dynamic_cast<const HasExactSamples*>(&model);
  return exact && exact->has_exact_samples() ? exact : nullptr;
}

}  // namespace isinglass
