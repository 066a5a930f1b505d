// Weights of the flips of binary sites to first order, a block of 32 after the other, in vectors
// (CPU). Each number equals that of the one-site function named, bit for bit (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"

namespace isinglass::cpu {

// The weights of the flips of `count` ≤ 32 binary sites, in blocks as of move_weights.h: 0 of those
// removed (bits) and of sites that the block lacks. Returns the block's scale.
double flip_weights(Balancing g, const float* gradient, const uint8_t* values, int64_t count,
                    uint32_t removed, double* weight, float beta = 1);

// The scales and sums of the blocks of all sites of a chain.
void flip_sums(Balancing g, const float* gradient, const uint8_t* values, int64_t sites,
               double* scale, double* sum, float beta = 1);

// scaled_weight(log_weight[i], scale)
void scaled_weights(const double* log_weight, double scale, double* weight);

}  // namespace isinglass::cpu
