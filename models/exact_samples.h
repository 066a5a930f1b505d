// Interface of models from which independent exact samples can be drawn.
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

class HasExactSamples {
 public:
  virtual ~HasExactSamples() = default;
  // Returns true if the model is small enough for it.
  virtual bool has_exact_samples() const { return true; }
  // Returns one sample per chain id (int64 [N]), determined by the id and the seed: [N, D], in the
  // space's dtype.
  virtual torch::Tensor exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const = 0;
};

// Returns the interface if the model has exact samples, otherwise null.
inline const HasExactSamples* exact_samples_of(const EnergyModel& model) {
  const auto* exact = dynamic_cast<const HasExactSamples*>(&model);
  return exact && exact->has_exact_samples() ? exact : nullptr;
}

}  // namespace isinglass
