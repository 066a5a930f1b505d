// Implements the enumeration of a model's present parameters and buffers.
#include "models/live_state.h"

#include <unordered_set>

namespace isinglass {

NamedTensors state_of(const EnergyModel& model) {
  if (const auto* live = dynamic_cast<const HasLiveState*>(&model)) return live->live_state();
  NamedTensors state;
  for (const auto& entry : model.named_parameters()) state.emplace_back(entry.key(), entry.value());
  for (const auto& entry : model.named_buffers()) state.emplace_back(entry.key(), entry.value());
  return state;
}

NamedTensors distinct_parameters(const EnergyModel& model) {
  NamedTensors distinct;
  std::unordered_set<const void*> seen;
  for (const auto& entry : model.named_parameters()) {
    const bool first = seen.insert(entry.value().unsafeGetTensorImpl()).second;
    if (first) distinct.emplace_back(entry.key(), entry.value());
  }
  return distinct;
}

}  // namespace isinglass
