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

template <Balancing g>
[[gnu::always_inline]] inline void fill_log_balances(const double* d, double* log_weight) {
  for (int i = 0; i < kBlockSites; ++i) log_weight[i] = log_balance(g, d[i]);
}

}  // namespace

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
void uniforms(const Draws& draws, Purpose purpose, uint32_t first, double* u) {
  const Draws own = draws;
  for (int i = 0; i < kBlockSites; ++i) u[i] = own.uniform(purpose, first + i);
}

ISINGLASS_VECTOR_CLONES
void binary_rows(const JumpTime& time, const double* d, double* stay, double* move) {
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

ISINGLASS_VECTOR_CLONES
void draw_stays(const double* stay, const double* u, const uint8_t* x, int64_t* stays, uint8_t* y) {
  uint8_t to[kBlockSites];
  int64_t same[kBlockSites];
  for (int i = 0; i < kBlockSites; ++i) {
    to[i] = static_cast<uint8_t>(drawn_binary(stay[i], x[i], u[i]));
    same[i] = to[i] == x[i];
  }
  for (int i = 0; i < kBlockSites; ++i) y[i] = to[i];
  for (int i = 0; i < kBlockSites; ++i) stays[i] = same[i];
}

ISINGLASS_VECTOR_CLONES
void given_stays(const uint8_t* x, const uint8_t* y, int64_t* stays) {
  for (int i = 0; i < kBlockSites; ++i) stays[i] = x[i] == y[i];
}

ISINGLASS_VECTOR_CLONES
bool log_probabilities(const double* d, const double* stay, const double* move,
                       const int64_t* stays, double* log_p) {
  int64_t out = 0;
  for (int i = 0; i < kBlockSites; ++i) {
    out |= in_range(d[i], stays[i] ? stay[i] : move[i]) ? 0 : 1;
  }
  for (int i = 0; i < kBlockSites; ++i) {
    log_p[i] = BinaryRow{stay[i], move[i]}.log_probability(stays[i]);
  }
  return out == 0;
}

}  // namespace isinglass::cpu
