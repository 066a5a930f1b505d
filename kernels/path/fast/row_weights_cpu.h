// Computes the weights of sites with several values, one row of values after the other, with vector
// instructions (CPU).
#pragma once

#include <cstdint>

#include "kernels/path/move_weights.h"

namespace isinglass::cpu {

// Return weights.log_site_weight(site, from), bit for bit.
double log_row_sum(const CategoricalGradientWeights& weights, int64_t site, int from);
double log_row_sum(const OrderedGradientWeights& weights, int64_t site, int from);
double log_row_sum(const ExactValueWeights& weights, int64_t site, int from);

}  // namespace isinglass::cpu
