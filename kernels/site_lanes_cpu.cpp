// See site_lanes_cpu.h. A clone for an instruction set takes in functions of the baseline only
// where they are inlined: loops here are plain ones.
#include "kernels/site_lanes_cpu.h"

#include "kernels/elementary.h"

namespace isinglass::cpu {
namespace {

// With the rule and g constants of the loop.
template <JumpRule rule, Balancing g>
[[gnu::always_inline]] inline void fill_thresholds(const FlipTime& time, const float* d,
                                                   int32_t* threshold) {
  const FlipTime own = time;
  for (int i = 0; i < kBlockSites; ++i) threshold[i] = flip_threshold(rule, g, own, d[i]);
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

// The first of `count` sites' differences; those of the others are 0.
[[gnu::always_inline]] inline void fill_differences(const float* gradient, const uint8_t* values,
                                                    int64_t count, float* d) {
  if (count == kBlockSites) {
    for (int i = 0; i < kBlockSites; ++i) d[i] = flip_difference(gradient[i], values[i]);
    return;
  }
  for (int i = 0; i < kBlockSites; ++i) d[i] = 0;
  for (int i = 0; i < count; ++i) d[i] = flip_difference(gradient[i], values[i]);
}

// draws.site_word() of a block, four a call, as flips() takes it.
[[gnu::always_inline]] inline void fill_words(const Draws& draws, uint32_t first, int32_t* word) {
  constexpr int kQuarter = kBlockSites / 4;
  const Draws own = draws;
  for (int i = 0; i < kQuarter; ++i) {
    const Philox4x32 r = philox4x32(own.seed, own.chain, own.step,
                                    static_cast<uint32_t>(Purpose::kSiteValue), first / 4 + i);
    for (int k = 0; k < 4; ++k) word[i + k * kQuarter] = static_cast<int32_t>(r.word[k] >> 1);
  }
}

// Folds 32 numbers in the order of a warp's butterfly.
template <class F>
[[gnu::always_inline]] inline double fold(const double* v, F f) {
  double p[16];
  for (int i = 0; i < 16; ++i) p[i] = f(v[i], v[i + 16]);
  for (int i = 0; i < 8; ++i) p[i] = f(p[i], p[i + 8]);
  for (int i = 0; i < 4; ++i) p[i] = f(p[i], p[i + 4]);
  return f(f(p[0], p[2]), f(p[1], p[3]));
}

[[gnu::always_inline]] inline double probability(const float* d, const int32_t* threshold,
                                                 const int32_t* flipped, int64_t count) {
  double share[kBlockSites];
  for (int i = 0; i < kBlockSites; ++i) share[i] = flip_share(threshold[i], flipped[i], d[i]);
  for (int i = static_cast<int>(count); i < kBlockSites; ++i) share[i] = kFlipWhole;
  return block_probability(fold(share, [](double a, double b) { return a * b; }));
}

template <Balancing g>
[[gnu::always_inline]] inline void fill_log_balances(const double* d, double* log_weight) {
  for (int i = 0; i < kBlockSites; ++i) log_weight[i] = log_balance(g, d[i]);
}

}  // namespace

ISINGLASS_VECTOR_CLONES
double tree_sum(const double* v) {
  return fold(v, [](double a, double b) { return a + b; });
}

ISINGLASS_VECTOR_CLONES
double tree_max(const double* v) {
  return fold(v, [](double a, double b) { return a > b ? a : b; });
}

ISINGLASS_VECTOR_CLONES
void flip_differences(const float* gradient, const uint8_t* values, double* d) {
  for (int i = 0; i < kBlockSites; ++i) {
    d[i] = ordered_difference(gradient, i, values[i], 1 - values[i]);
  }
}

ISINGLASS_VECTOR_CLONES
void log_balances(Balancing g, const double* d, double* log_weight) {
  switch (g) {
    case Balancing::kSqrt:
      return fill_log_balances<Balancing::kSqrt>(d, log_weight);
    case Balancing::kBarker:
      return fill_log_balances<Balancing::kBarker>(d, log_weight);
    case Balancing::kMin:
      return fill_log_balances<Balancing::kMin>(d, log_weight);
    case Balancing::kMax:
      return fill_log_balances<Balancing::kMax>(d, log_weight);
  }
}

ISINGLASS_VECTOR_CLONES
void scaled_weights(const double* log_weight, double scale, double* weight) {
  for (int i = 0; i < kBlockSites; ++i) weight[i] = scaled_weight(log_weight[i], scale);
}

ISINGLASS_VECTOR_CLONES
double draw_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const Draws& draws,
                  int64_t first, int64_t count, uint8_t* y) {
  float d[kBlockSites];
  int32_t threshold[kBlockSites], word[kBlockSites], flipped[kBlockSites];
  fill_differences(gradient, x, count, d);
  fill_thresholds(time, d, threshold);
  fill_words(draws, static_cast<uint32_t>(first), word);
  for (int i = 0; i < kBlockSites; ++i) flipped[i] = word[i] < threshold[i];
  if (count == kBlockSites) {
    for (int i = 0; i < kBlockSites; ++i) y[i] = static_cast<uint8_t>(x[i] ^ flipped[i]);
  } else {
    for (int i = 0; i < count; ++i) y[i] = static_cast<uint8_t>(x[i] ^ flipped[i]);
  }
  return probability(d, threshold, flipped, count);
}

ISINGLASS_VECTOR_CLONES
double score_flips(const FlipTime& time, const float* gradient, const uint8_t* x, const uint8_t* y,
                   int64_t count) {
  float d[kBlockSites];
  int32_t threshold[kBlockSites], flipped[kBlockSites] = {};
  fill_differences(gradient, x, count, d);
  fill_thresholds(time, d, threshold);
  if (count == kBlockSites) {
    for (int i = 0; i < kBlockSites; ++i) flipped[i] = x[i] != y[i];
  } else {
    for (int i = 0; i < count; ++i) flipped[i] = x[i] != y[i];
  }
  return probability(d, threshold, flipped, count);
}

}  // namespace isinglass::cpu
