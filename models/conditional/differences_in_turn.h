// Exact differences of models whose energy depends on the chain: all neighbours of all chains are
// evaluated, one site and one value after the other, so that each row of a batch belongs to its
// chain.
#pragma once

#include "models/energy_model.h"

namespace isinglass {

// Evaluates discrete states as HasEnergyDifferences does, by one call of evaluate_energy() and one
// more for every neighbour.
void differences_in_turn(EnergyModel& model, const torch::Tensor& x, Evaluation& out);

}  // namespace isinglass
