// Draws and scores jumps of binary sites (binary_rows.h) with vector instructions (CPU). Each
// number is bitwise that of the one-site function named (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/random/philox.h"

namespace isinglass::cpu {

// Writes flip_threshold(jump, d[i]) for kFlipTile numbers.
constexpr int kFlipTile = 4 * kBlockSites;
void flip_thresholds(const BinaryJumpParameters& jump, const float* d, int32_t* threshold);

// Return log q of a chain's binary sites (binary_rows.h), which draw_flips() draws into y and
// score_flips() is given. log q is the sum over blocks of 32 sites of log block_probability().
double draw_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                  const PhiloxStream& draws, int64_t sites, uint8_t* y);
double score_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                   const uint8_t* y, int64_t sites);

}  // namespace isinglass::cpu
