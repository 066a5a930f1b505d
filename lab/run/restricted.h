// Restricts the states of a run as its spec says, or as a calling program does.
#pragma once

#include <memory>

#include "lab/run/assemble.h"
#include "models/conditional/restriction.h"

namespace isinglass {

// Returns what restricts the states: tensors that are given, else those of the files, whose paths
// become absolute. Throws Error for a file that cannot be read.
RestrictionOptions restriction_options(RestrictionSpec& spec, const Given& given);

// Returns the restricted model, at the temperature of the model. `lasting`: as for
// conditional_model().
std::shared_ptr<EnergyModel> restricted(std::shared_ptr<EnergyModel> model,
                                        const Restriction& restriction, torch::Device device,
                                        bool lasting = false);

}  // namespace isinglass
