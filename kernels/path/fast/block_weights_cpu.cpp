// See block_weights_cpu.h. A clone for an instruction set takes in functions of the baseline only
// where they are inlined: loops here are plain ones.
#include "kernels/path/fast/block_weights_cpu.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/elementary.h"
#include "kernels/base/log_product.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kTile = kFlipTile;  // sites at a time: enough to keep the machine busy
static_assert(kTile == kWordTile);

// With the rule and g constants of the loop.
template <JumpRule rule, Balancing g>
[[gnu::always_inline]] inline void fill_thresholds(const FlipTime& time, const float* d,
                                                   int32_t* threshold) {
  const FlipTime own = time;
  for (int i = 0; i < kTile; ++i) threshold[i] = flip_threshold(rule, g, own, d[i]);
}

template <JumpRule rule>
[[gnu::always_inline]] inline void fill_thresholds(const FlipTime& time, const float* d,
                                                   int32_t* threshold) {
  switch (time.balancing) {
    case Balancing::kSqrt:
      return fill_thresholds<rule, Balancing::kSqrt>(time, d, threshold);
    case Balancing::kBarker:
      return fill_thresholds<rule, Balancing::kBarker>(time, d, threshold);
    case Balancing::kMin:
      return fill_thresholds<rule, Balancing::kMin>(time, d, threshold);
    case Balancing::kMax:
      return fill_thresholds<rule, Balancing::kMax>(time, d, threshold);
  }
}

[[gnu::always_inline]] inline void fill_thresholds(const FlipTime& time, const float* d,
                                                   int32_t* threshold) {
  switch (time.rule) {
    case JumpRule::kInterpolation:
      return fill_thresholds<JumpRule::kInterpolation>(time, d, threshold);
    case JumpRule::kForwardEuler:
      return fill_thresholds<JumpRule::kForwardEuler>(time, d, threshold);
    case JumpRule::kBackwardEuler:
      return fill_thresholds<JumpRule::kBackwardEuler>(time, d, threshold);
    case JumpRule::kLangevin:  // g is not read
      return fill_thresholds<JumpRule::kLangevin, Balancing::kSqrt>(time, d, threshold);
  }
}

// A tile's blocks; sites that it lacks have happened surely.
[[gnu::always_inline]] inline void multiply(const float* d, const int32_t* threshold,
                                            const int32_t* flipped, int64_t count,
                                            LogProduct& log_q) {
  double share[kTile];
  for (int i = 0; i < kTile; ++i) share[i] = flip_share(threshold[i], flipped[i], d[i]);
  for (int i = static_cast<int>(count); i < kTile; ++i) share[i] = kFlipWhole;
  for (int block = 0; block < kTile; block += kBlockSites) {
    log_q.multiply(block_probability(tree_product(share + block)));
  }
}

// A part of an array to be read as `kSize` numbers: `count` of it, and zeros.
template <class T, int kSize>
struct Padded {
  T copy[kSize];
  const T* whole;

  [[gnu::always_inline]] Padded(const T* from, int64_t count) : whole(from) {
    if (count >= kSize) return;
    for (int i = 0; i < kSize; ++i) copy[i] = 0;
    for (int i = 0; i < count; ++i) copy[i] = from[i];
    whole = copy;
  }
};

template <class T>
using Tile = Padded<T, kTile>;

// With g a constant of the loop.
template <Balancing g, int kSites>
[[gnu::always_inline]] inline void fill_log_balances(const float* d, double* log_weight) {
  for (int i = 0; i < kSites; ++i) log_weight[i] = log_balance(g, d[i]);
}

template <int kSites>
[[gnu::always_inline]] inline void fill_log_balances(Balancing g, const float* d,
                                                     double* log_weight) {
  switch (g) {
    case Balancing::kSqrt:
      return fill_log_balances<Balancing::kSqrt, kSites>(d, log_weight);
    case Balancing::kBarker:
      return fill_log_balances<Balancing::kBarker, kSites>(d, log_weight);
    case Balancing::kMin:
      return fill_log_balances<Balancing::kMin, kSites>(d, log_weight);
    case Balancing::kMax:
      return fill_log_balances<Balancing::kMax, kSites>(d, log_weight);
  }
}

// The weights of the flips of a few blocks, `count` sites at most, and the blocks' scales; sites
// that they lack weigh 0.
template <int kBlocks>
[[gnu::always_inline]] inline void weigh(Balancing g, const float* gradient, const uint8_t* values,
                                         int64_t count, uint32_t removed, double* scale,
                                         double* weight) {
  constexpr int kSites = kBlocks * kBlockSites;
  const Padded<float, kSites> slope(gradient, count);
  const Padded<uint8_t, kSites> from(values, count);
  float d[kSites];
  double log_weight[kSites];
  for (int i = 0; i < kSites; ++i) d[i] = flip_difference(slope.whole[i], from.whole[i]);
  fill_log_balances<kSites>(g, d, log_weight);
  for (int64_t i = count; i < kSites; ++i) log_weight[i] = -INFINITY;
  for (; removed != 0; removed &= removed - 1) log_weight[__builtin_ctz(removed)] = -INFINITY;
  for (int b = 0; b < kBlocks; ++b) {
    scale[b] = block_scale(tree_max(log_weight + b * kBlockSites));
  }
  for (int b = 0; b < kBlocks; ++b) {
    const double own = scale[b];
    for (int i = b * kBlockSites; i < (b + 1) * kBlockSites; ++i) {
      weight[i] = scaled_weight(log_weight[i], own);
    }
  }
}

}  // namespace

ISINGLASS_VECTOR_CLONES
double flip_weights(Balancing g, const float* gradient, const uint8_t* values, int64_t count,
                    uint32_t removed, double* weight) {
  double scale;
  weigh<1>(g, gradient, values, count, removed, &scale, weight);
  return scale;
}

ISINGLASS_VECTOR_CLONES
void flip_sums(Balancing g, const float* gradient, const uint8_t* values, int64_t sites,
               double* scale, double* sum) {
  constexpr int kBlocks = kTile / kBlockSites;
  double weight[kTile], scales[kBlocks];
  for (int64_t first = 0; first < sites; first += kTile) {
    const int64_t count = sites - first;
    weigh<kBlocks>(g, gradient + first, values + first, count, 0, scales, weight);
    for (int b = 0; b < kBlocks && b * kBlockSites < count; ++b) {
      *scale++ = scales[b];
      *sum++ = tree_sum(weight + b * kBlockSites);
    }
  }
}

ISINGLASS_VECTOR_CLONES
void scaled_weights(const double* log_weight, double scale, double* weight) {
  for (int i = 0; i < kBlockSites; ++i) weight[i] = scaled_weight(log_weight[i], scale);
}

ISINGLASS_VECTOR_CLONES
void flip_thresholds(const FlipTime& time, const float* d, int32_t* threshold) {
  fill_thresholds(time, d, threshold);
}

ISINGLASS_VECTOR_CLONES
double draw_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const Draws& draws,
                  int64_t sites, uint8_t* y) {
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
    fill_thresholds(time, d, threshold);
    site_words(draws, Purpose::kSiteValue, static_cast<uint32_t>(first), word);
    for (int i = 0; i < kTile; ++i) flipped[i] = static_cast<int32_t>(word[i] >> 1) < threshold[i];
    for (int i = 0; i < kTile; ++i) drawn[i] = static_cast<uint8_t>(from.whole[i] ^ flipped[i]);
    std::memcpy(y + first, drawn, std::min<int64_t>(count, kTile));
    multiply(d, threshold, flipped, count, log_q);
  }
  return log_q.log();
}

ISINGLASS_VECTOR_CLONES
double score_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const uint8_t* y,
                   int64_t sites) {
  float d[kTile];
  int32_t threshold[kTile], flipped[kTile];
  LogProduct log_q;
  for (int64_t first = 0; first < sites; first += kTile) {
    const int64_t count = sites - first;
    const Tile<float> slope(gradient + first, count);
    const Tile<uint8_t> from(x + first, count), to(y + first, count);
    for (int i = 0; i < kTile; ++i) d[i] = flip_difference(slope.whole[i], from.whole[i]);
    fill_thresholds(time, d, threshold);
    for (int i = 0; i < kTile; ++i) flipped[i] = from.whole[i] != to.whole[i];
    multiply(d, threshold, flipped, count, log_q);
  }
  return log_q.log();
}

}  // namespace isinglass::cpu
