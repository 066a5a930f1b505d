// Computes the weights of flips of binary sites to first order, one block of 32 after the other,
// with vector instructions (CPU). Each number is bitwise that of the one-site function named
// (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"

namespace isinglass::cpu {

// Writes the weights of the flips of `count` ≤ 32 binary sites, as in the blocks of move_weights.h,
// and returns the block's scale. Sites whose bit in `removed` is set, and missing sites, have
// weight 0.
double flip_weights(Balancing g, const float* gradient, const uint8_t* values, int64_t count,
                    uint32_t removed, double* weight, float beta = 1);

// Refers to the weights of a chain in blocks of 32 sites (move_weights.h).
struct SiteWeights {
  double *log_weight, *weight;  // [32·blocks]. They are −∞ and 0 beyond the last site.
  double *scale, *sum;          // [blocks]
};

// Writes the weights of the flips of all sites of a chain.
void flip_sums(Balancing g, const float* gradient, const uint8_t* values, int64_t sites,
               const SiteWeights& written, float beta = 1);

// Writes scaled_weight(log_weight[i], scale) for a block.
void scaled_weights(const double* log_weight, double scale, double* weight);

}  // namespace isinglass::cpu
