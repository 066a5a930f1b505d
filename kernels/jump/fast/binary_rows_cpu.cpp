// Implements draw_flips() and score_flips() in tiles of 128 sites, which the compiler vectorises.
#include "kernels/jump/fast/binary_rows_cpu.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/differences.h"
#include "kernels/base/log_product.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kTile = kFlipTile;  // This many sites at a time keep the vector units busy.
static_assert(kTile == kWordTile);

// The rule and g are template arguments, so that they are constants in the loop.
template <JumpRule rule, Balancing g>
[[gnu::always_inline]] inline void fill_thresholds(const BinaryJumpParameters& jump, const float* d,
                                                   int32_t* threshold) {
  const BinaryJumpParameters own = jump;
  for (int i = 0; i < kTile; ++i) threshold[i] = flip_threshold(rule, g, own, d[i]);
}

template <JumpRule rule>
[[gnu::always_inline]] inline void fill_thresholds(const BinaryJumpParameters& jump, const float* d,
                                                   int32_t* threshold) {
  switch (jump.balancing) {
    case Balancing::kSqrt:
      return fill_thresholds<rule, Balancing::kSqrt>(jump, d, threshold);
    case Balancing::kBarker:
      return fill_thresholds<rule, Balancing::kBarker>(jump, d, threshold);
    case Balancing::kMin:
      return fill_thresholds<rule, Balancing::kMin>(jump, d, threshold);
    case Balancing::kMax:
      return fill_thresholds<rule, Balancing::kMax>(jump, d, threshold);
  }
}

[[gnu::always_inline]] inline void fill_thresholds(const BinaryJumpParameters& jump, const float* d,
                                                   int32_t* threshold) {
  switch (jump.rule) {
    case JumpRule::kInterpolation:
      return fill_thresholds<JumpRule::kInterpolation>(jump, d, threshold);
    case JumpRule::kForwardEuler:
      return fill_thresholds<JumpRule::kForwardEuler>(jump, d, threshold);
    case JumpRule::kBackwardEuler:
      return fill_thresholds<JumpRule::kBackwardEuler>(jump, d, threshold);
    case JumpRule::kLangevin:  // This rule does not read g.
      return fill_thresholds<JumpRule::kLangevin, Balancing::kSqrt>(jump, d, threshold);
  }
}

// Multiplies the probabilities of a tile's blocks into log q. A missing site has weight 2^31.
[[gnu::always_inline]] inline void multiply(const float* d, const int32_t* threshold,
                                            const int32_t* flipped, int64_t count,
                                            LogProduct& log_q) {
  double weight[kTile];
  for (int i = 0; i < kTile; ++i) weight[i] = outcome_weight(threshold[i], flipped[i], d[i]);
  for (int i = static_cast<int>(count); i < kTile; ++i) weight[i] = kFlipWhole;
  for (int block = 0; block < kTile; block += kBlockSites) {
    log_q.multiply(block_probability(tree_product(weight + block)));
  }
}

template <class T>
using Tile = Padded<T, kTile>;

}  // namespace

ISINGLASS_VECTOR_CLONES
void flip_thresholds(const BinaryJumpParameters& jump, const float* d, int32_t* threshold) {
  fill_thresholds(jump, d, threshold);
}

ISINGLASS_VECTOR_CLONES
double draw_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                  const PhiloxStream& draws, int64_t sites, uint8_t* y) {
  float d[kTile];
  int32_t threshold[kTile], flipped[kTile];
  uint32_t word[kTile];
  uint8_t drawn[kTile];
  LogProduct log_q;
  for (int64_t first = 0; first < sites; first += kTile) {
    const int64_t count = sites - first;
    const Tile<float> slope(gradient + first, count);
    const Tile<uint8_t> from(x + first, count);
    for (int i = 0; i < kTile; ++i) d[i] = flip_difference(slope.whole[i], from.whole[i]);
    fill_thresholds(jump, d, threshold);
    site_words(draws, Purpose::kSiteValue, static_cast<uint32_t>(first), word);
    for (int i = 0; i < kTile; ++i) flipped[i] = static_cast<int32_t>(word[i] >> 1) < threshold[i];
    for (int i = 0; i < kTile; ++i) drawn[i] = static_cast<uint8_t>(from.whole[i] ^ flipped[i]);
    std::memcpy(y + first, drawn, std::min<int64_t>(count, kTile));
    multiply(d, threshold, flipped, count, log_q);
  }
  return log_q.log();
}

ISINGLASS_VECTOR_CLONES
double score_flips(const BinaryJumpParameters& jump, const float* gradient, const uint8_t* x,
                   const uint8_t* y, int64_t sites) {
  float d[kTile];
  int32_t threshold[kTile], flipped[kTile];
  LogProduct log_q;
  for (int64_t first = 0; first < sites; first += kTile) {
    const int64_t count = sites - first;
    const Tile<float> slope(gradient + first, count);
    const Tile<uint8_t> from(x + first, count), to(y + first, count);
    for (int i = 0; i < kTile; ++i) d[i] = flip_difference(slope.whole[i], from.whole[i]);
    fill_thresholds(jump, d, threshold);
    for (int i = 0; i < kTile; ++i) flipped[i] = from.whole[i] != to.whole[i];
    multiply(d, threshold, flipped, count, log_q);
  }
  return log_q.log();
}

}  // namespace isinglass::cpu
