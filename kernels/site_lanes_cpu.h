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

// draws.uniform(purpose, first + i)
void uniforms(const Draws& draws, Purpose purpose, uint32_t first, double* u);

// binary_row(time.rule, time.balancing, time, d[i])
void binary_rows(const JumpTime& time, const double* d, double* stay, double* move);

// Whether the site stays, as drawn_binary() of u[i] says, and its value; or as given values say.
void draw_stays(const double* stay, const double* u, const uint8_t* x, int64_t* stays, uint8_t* y);
void given_stays(const uint8_t* x, const uint8_t* y, int64_t* stays);

// BinaryRow{stay[i], move[i]}.log_probability(stays[i]); returns whether all are in_range().
bool log_probabilities(const double* d, const double* stay, const double* move,
                       const int64_t* stays, double* log_p);

}  // namespace isinglass::cpu
