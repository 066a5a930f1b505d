// Loops over the 32 sites of a block, in vectors (CPU). Each number equals that of the one-site
// function named, bit for bit (elementary.h).
#pragma once

#include <cstdint>

#include "kernels/jump/binary_rows.h"
#include "kernels/random/philox.h"
#include "kernels/path/move_weights.h"

namespace isinglass::cpu {

// Eight numbers; the compiler takes them apart where the machine's vectors are shorter.
using Numbers = double __attribute__((vector_size(8 * sizeof(double)), aligned(8)));

// Folds 32 numbers in the order of a warp's butterfly, f(a, b) into a; inlined, for the caller's
// instruction set.
template <class F>
[[gnu::always_inline]] inline double fold(const double* v, F f) {
  const auto* part = reinterpret_cast<const Numbers*>(v);
  Numbers even = part[0], odd = part[1];
  f(even, part[2]);
  f(odd, part[3]);
  f(even, odd);
  double p[4] = {even[0], even[1], even[2], even[3]};
  for (int i = 0; i < 4; ++i) f(p[i], even[i + 4]);
  f(p[0], p[2]);
  f(p[1], p[3]);
  f(p[0], p[1]);
  return p[0];
}

[[gnu::always_inline]] inline double tree_sum(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a += b; });
}
// The same of numbers that have just been written one by one: whole vectors would wait for them.
[[gnu::always_inline]] inline double written_sum(const double* v) {
  double p[16];
  for (int i = 0; i < 16; ++i) p[i] = v[i] + v[i + 16];
  for (int i = 0; i < 8; ++i) p[i] += p[i + 8];
  for (int i = 0; i < 4; ++i) p[i] += p[i + 4];
  return (p[0] + p[2]) + (p[1] + p[3]);
}
[[gnu::always_inline]] inline double tree_product(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a *= b; });
}
[[gnu::always_inline]] inline double tree_max(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a = a > b ? a : b; });
}

// The weights of the flips of `count` ≤ 32 binary sites, in blocks as of move_weights.h: 0 of those
// removed (bits) and of sites that the block lacks. Returns the block's scale.
double flip_weights(Balancing g, const float* gradient, const uint8_t* values, int64_t count,
                    uint32_t removed, double* weight);

// The scales and sums of the blocks of all sites of a chain.
void flip_sums(Balancing g, const float* gradient, const uint8_t* values, int64_t sites,
               double* scale, double* sum);

// scaled_weight(log_weight[i], scale)
void scaled_weights(const double* log_weight, double scale, double* weight);

// flip_threshold(time, d[i]) of kFlipTile numbers
constexpr int kFlipTile = 4 * kBlockSites;
void flip_thresholds(const FlipTime& time, const float* d, int32_t* threshold);

// log q of a chain's binary sites (binary_rows.h), drawn into y or given: the sum over blocks of 32
// of the logarithms of their block_probability().
double draw_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const Draws& draws,
                  int64_t sites, uint8_t* y);
double score_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const uint8_t* y,
                   int64_t sites);

}  // namespace isinglass::cpu
