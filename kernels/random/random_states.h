// Random states: independent sites, normal numbers or permutations; initial states, binarised
// images, restarted chains. Each number comes from Philox at (chain = id of the row, step, purpose,
// position = site), a normal one from its call (normal.h).
#pragma once

#include <cstdint>

#include "kernels/base/categorical.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct RowDraws {
  int64_t rows, sites;
  const int64_t* ids;  // [rows]
  uint64_t seed;
  uint32_t step;
  Purpose purpose;
  const int64_t* rng = nullptr;  // {seed, step} in device memory, in place of the two above

  ISINGLASS_HD Draws row(int64_t r) const {
    if (rng) return step_draws(rng, ids[r]);
    return {seed, static_cast<uint32_t>(ids[r]), step};
  }
};

// A uniform permutation of 0 … sites − 1 (Fisher–Yates); position = site.
ISINGLASS_HD inline void draw_permutation(const Draws& draws, Purpose purpose, int64_t sites,
                                          int64_t* out) {
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t j = draws.below(static_cast<uint32_t>(i + 1), purpose, static_cast<uint32_t>(i));
    if (j < i) out[i] = out[j];
    out[j] = i;
  }
}

// A value of K at quantile u of a site whose probabilities are p[0 … K − 1].
ISINGLASS_HD inline uint8_t categorical_value(const double* p, int categories, double u) {
  return static_cast<uint8_t>(
      inverse_cdf(categories, [p](int64_t k) { return p[k]; }, u, /*none=*/0));
}

// out uint8 [rows, D] ~ Bernoulli(p); row r's probabilities start at p + r·stride (stride 0:
// shared).
ISINGLASS_TWINS(bernoulli_rows, const RowDraws&, const float* p, int64_t stride, uint8_t* out,
                Stream)
// out uint8 [rows, D], site i with probability p[i·K + k] of value k < K, by the inverse CDF
// (kernels/base/categorical.h); p sums to 1 at every site.
ISINGLASS_TWINS(categorical_rows, const RowDraws&, const double* p, int categories, uint8_t* out,
                Stream)
// out uint8 [rows, D] uniform in 0 … categories − 1.
ISINGLASS_TWINS(uniform_rows, const RowDraws&, int categories, uint8_t* out, Stream)
// out float32 [rows, D] ~ N(0, I).
ISINGLASS_TWINS(normal_rows, const RowDraws&, float* out, Stream)
// out int64 [rows, D], uniform permutations of 0 … D − 1.
ISINGLASS_TWINS(permutation_rows, const RowDraws&, int64_t* out, Stream)

}  // namespace isinglass
