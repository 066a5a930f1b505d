// Interface of models U = U_base + g that are built on a base: another model of the same states,
// which has exact moves of its own. A proposal by such moves is accepted by the ratio of g alone.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

class HasBase {
 public:
  virtual ~HasBase() = default;
  // Returns the base; null if a model that wraps other models has none.
  virtual EnergyModel* base() = 0;
  // Returns the base's part of an evaluation: U_base and the base's own cache. It shares the
  // tensors of `known`, so that moves of the base update them in place.
  virtual Evaluation base_in(const Evaluation& known) const = 0;
  // Evaluates the states y, at which base_in(out) already is the base's evaluation without
  // gradient. It calls the rest of the model once.
  virtual void evaluate_on_base(const torch::Tensor& y, bool gradient, Evaluation& out) = 0;
};

// Returns the interface if the model has a base, otherwise null.
inline HasBase* on_base(EnergyModel& model) {
  auto* built = dynamic_cast<HasBase*>(&model);
  return built && built->base() ? built : nullptr;
}
inline const HasBase* on_base(const EnergyModel& model) {
  return on_base(const_cast<EnergyModel&>(model));
}

}  // namespace isinglass
