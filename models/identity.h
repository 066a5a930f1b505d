// What a model is, beside its kind: its parameters.
#pragma once

#include <string>

#include "models/energy_model.h"

namespace isinglass {

// SHA-256 of the model's parameters and buffers (io/sha256.h): of a trained network that of the
// file that holds them.
std::string parameters_sha256(const EnergyModel& model);

}  // namespace isinglass
