// See site_lanes_cpu.h. A clone for an instruction set takes in functions of the baseline only
// where they are inlined: loops here are plain ones.
#include "kernels/site_lanes_cpu.h"

#include "kernels/elementary.h"

namespace isinglass::cpu {
namespace {

// With the rule and g constants of the loop.
template <JumpRule rule, Balancing g>
[[gnu::always_inline]] inline void fill_rows(const JumpTime& time, const double* d, double* stay,
                                             double* move) {
  const JumpTime own = time;
  for (int i = 0; i < kBlockSites; ++i) {
    const BinaryRow row = binary_row(rule, g, own, d[i]);
    stay[i] = row.stay;
    move[i] = row.move;
  }
}

template <JumpRule rule>
[[gnu::always_inline]] inline void fill_rows(const JumpTime& time, const double* d, double* stay,
                                             double* move) {
  switch (time.balancing) {
    case Balancing::kSqrt:
      return fill_rows<rule, Balancing::kSqrt>(time, d, stay, move);
    case Balancing::kBarker:
      return fill_rows<rule, Balancing::kBarker>(time, d, stay, move);
    case Balancing::kMin:
      return fill_rows<rule, Balancing::kMin>(time, d, stay, move);
    case Balancing::kMax:
      return fill_rows<rule, Balancing::kMax>(time, d, stay, move);
  }
}

[[gnu::always_inline]] inline void fill_rows(const JumpTime& time, const double* d, double* stay,
                                             double* move) {
  switch (time.rule) {
    case JumpRule::kInterpolation:
      return fill_rows<JumpRule::kInterpolation>(time, d, stay, move);
    case JumpRule::kForwardEuler:
      return fill_rows<JumpRule::kForwardEuler>(time, d, stay, move);
    case JumpRule::kBackwardEuler:
      return fill_rows<JumpRule::kBackwardEuler>(time, d, stay, move);
    case JumpRule::kLangevin:  // g is not read
      return fill_rows<JumpRule::kLangevin, Balancing::kSqrt>(time, d, stay, move);
  }
}

[[gnu::always_inline]] inline void fill_differences(const float* gradient, const uint8_t* values,
                                                    double* d) {
  for (int i = 0; i < kBlockSites; ++i) {
    d[i] = ordered_difference(gradient, i, values[i], 1 - values[i]);
  }
}

// draws.site_word() of a block, four a call.
[[gnu::always_inline]] inline void fill_words(const Draws& draws, uint32_t first, double* word) {
  constexpr int kQuarter = kBlockSites / 4;
  const Draws own = draws;
  for (int i = 0; i < kQuarter; ++i) {
    const Philox4x32 r = philox4x32(own.seed, own.chain, own.step,
                                    static_cast<uint32_t>(Purpose::kSiteValue), first / 4 + i);
    for (int k = 0; k < 4; ++k) word[i + k * kQuarter] = r.word[k];
  }
}

// Whether sites stay: u < stay. The first word of u decides, unless stay lies between the least and
// the largest u that begin so.
[[gnu::always_inline]] inline void draw_stays(const Draws& draws, uint32_t first,
                                              const double* stay, int64_t* stays) {
  constexpr double kWord = 0x1p-32;
  double word[kBlockSites];
  fill_words(draws, first, word);
  int64_t open = 0;
  for (int i = 0; i < kBlockSites; ++i) {
    stays[i] = word[i] * kWord < stay[i];
    open |= stays[i] & ((word[i] + 1) * kWord > stay[i]);
  }
  for (int i = 0; open && i < kBlockSites; ++i) {
    stays[i] = draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest,
                                  first + static_cast<uint32_t>(i)) < stay[i];
  }
}

// Π of what happened, in the order of a warp's butterfly.
[[gnu::always_inline]] inline double product(const double* d, const double* stay,
                                             const double* move, const int64_t* stays) {
  double p[kBlockSites];
  for (int i = 0; i < kBlockSites; ++i) p[i] = flip_probability({stay[i], move[i]}, d[i], stays[i]);
  for (int i = 0; i < 16; ++i) p[i] *= p[i + 16];
  for (int i = 0; i < 8; ++i) p[i] *= p[i + 8];
  for (int i = 0; i < 4; ++i) p[i] *= p[i + 4];
  return (p[0] * p[2]) * (p[1] * p[3]);
}

template <Balancing g>
[[gnu::always_inline]] inline void fill_log_balances(const double* d, double* log_weight) {
  for (int i = 0; i < kBlockSites; ++i) log_weight[i] = log_balance(g, d[i]);
}

}  // namespace

ISINGLASS_VECTOR_CLONES
void flip_differences(const float* gradient, const uint8_t* values, double* d) {
  fill_differences(gradient, values, d);
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
double draw_flips(const JumpTime& time, const float* gradient, const uint8_t* x, const Draws& draws,
                  uint32_t first, uint8_t* y) {
  double d[kBlockSites], stay[kBlockSites], move[kBlockSites];
  int64_t stays[kBlockSites];
  fill_differences(gradient, x, d);
  fill_rows(time, d, stay, move);
  draw_stays(draws, first, stay, stays);
  for (int i = 0; i < kBlockSites; ++i) y[i] = stays[i] ? x[i] : 1 - x[i];
  return product(d, stay, move, stays);
}

ISINGLASS_VECTOR_CLONES
double score_flips(const JumpTime& time, const float* gradient, const uint8_t* x,
                   const uint8_t* y) {
  double d[kBlockSites], stay[kBlockSites], move[kBlockSites];
  int64_t stays[kBlockSites];
  for (int i = 0; i < kBlockSites; ++i) stays[i] = x[i] == y[i];
  fill_differences(gradient, x, d);
  fill_rows(time, d, stay, move);
  return product(d, stay, move, stays);
}

}  // namespace isinglass::cpu
