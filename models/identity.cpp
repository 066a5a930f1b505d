// See identity.h.
#include "models/identity.h"

#include "io/sha256.h"

namespace isinglass {

std::string parameters_sha256(const EnergyModel& model) {
  NamedTensors tensors;
  for (const auto& entry : model.named_parameters()) {
    tensors.emplace_back(entry.key(), entry.value());
  }
  for (const auto& entry : model.named_buffers()) tensors.emplace_back(entry.key(), entry.value());
  return sha256(std::move(tensors));
}

}  // namespace isinglass
