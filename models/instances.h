// Standard instances: the targets of the papers' figures and tables, built by name from a seed, no
// file needed. Random parameters come from Philox (purpose kInstance), so that an instance is the
// same everywhere.
//
//   NAME[:KEY=X[,KEY=X…]], such as ising-field:side=50,mu=2,width=3
#pragma once

#include <memory>
#include <string>

#include "models/energy_model.h"

namespace isinglass {

// Throws Error naming an unknown instance or key (with the known ones), or a number out of range.
std::shared_ptr<EnergyModel> make_instance(const std::string& text);

// "bernoulli, categorical, …": for messages and help.
std::string instance_names();

}  // namespace isinglass
