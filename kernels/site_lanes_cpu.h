// Loops over the 32 sites of a block, in vectors (CPU). Each number equals that of the one-site
// function named, bit for bit (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/jump_rows.h"
#include "kernels/philox.h"
#include "kernels/site_weights.h"

namespace isinglass::cpu {

// d[i] = ordered_difference(gradient, i, values[i], 1 − values[i]), of binary sites
void flip_differences(const float* gradient, const uint8_t* values, double* d);

// log_balance(g, d[i])
void log_balances(Balancing g, const double* d, double* log_weight);

// scaled_weight(log_weight[i], scale)
void scaled_weights(const double* log_weight, double scale, double* weight);

// Values of the binary sites first … first + 31, drawn into y or given: the product of their
// flip_probability(). gradient, x and y are the block's.
double draw_flips(const JumpTime& time, const float* gradient, const uint8_t* x, const Draws& draws,
                  uint32_t first, uint8_t* y);
double score_flips(const JumpTime& time, const float* gradient, const uint8_t* x, const uint8_t* y);

}  // namespace isinglass::cpu
