// draw_jump() and score_jump() of binary sites (binary_rows.h), in vectors (CPU). Each number
// equals that of the one-site function named, bit for bit (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/random/philox.h"

namespace isinglass::cpu {

// flip_threshold(jump, d[i]) of kFlipTile numbers
constexpr int kFlipTile = 4 * kBlockSites;
void flip_thresholds(const BinaryJumpParameters& jump, const float* d, int32_t* threshold);

// log q of a chain's binary sites (binary_rows.h), drawn into y or given: the sum over blocks of 32
// of the logarithms of their block_probability().
double draw_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                  const Draws& draws, int64_t sites, uint8_t* y);
double score_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                   const uint8_t* y, int64_t sites);

}  // namespace isinglass::cpu
