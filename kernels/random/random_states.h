// Draws random states: independent sites, normal numbers or permutations. They serve as initial
// states, binarised images and restarted chains. Each number is Philox at (chain = id of the row,
// step, purpose, position = site); normal numbers use the positions of their calls (normal.h).
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
  // If it is not null, {seed, step} in device memory replace `seed` and `step`.
  const int64_t* rng = nullptr;

  ISINGLASS_HD PhiloxStream row(int64_t r) const {
    if (rng) return step_draws(rng, ids[r]);
    return {seed, static_cast<uint32_t>(ids[r]), step};
  }
};

// Writes a uniform permutation of 0 … sites − 1 (Fisher–Yates); position = site.
ISINGLASS_HD inline void draw_permutation(const PhiloxStream& draws, Purpose purpose, int64_t sites,
                                          int64_t* out) {
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t j = draws.below(static_cast<uint32_t>(i + 1), purpose, static_cast<uint32_t>(i));
    if (j < i) out[i] = out[j];
    out[j] = i;
  }
}

// Returns the value at quantile u of a site with probabilities p[0 … K − 1].
ISINGLASS_HD inline uint8_t categorical_value(const double* p, int categories, double u) {
  return static_cast<uint8_t>(
      inverse_cdf(categories, [p](int64_t k) { return p[k]; }, u, /*none=*/0));
}

// Writes out uint8 [rows, D] ~ Bernoulli(p). The probabilities of row r start at p + r·stride;
// stride 0 shares one row of probabilities.
ISINGLASS_TWINS(bernoulli_rows, const RowDraws&, const float* p, int64_t stride, uint8_t* out,
                Stream)
// Writes out uint8 [rows, D], where site i has value k < K with probability p[i·K + k], by the
// inverse CDF (kernels/base/categorical.h). p sums to 1 at every site.
ISINGLASS_TWINS(categorical_rows, const RowDraws&, const double* p, int categories, uint8_t* out,
                Stream)
// Writes out uint8 [rows, D], uniform in 0 … categories − 1.
ISINGLASS_TWINS(uniform_rows, const RowDraws&, int categories, uint8_t* out, Stream)
// Writes out float32 [rows, D] ~ N(0, I).
ISINGLASS_TWINS(normal_rows, const RowDraws&, float* out, Stream)
// Writes out int64 [rows, D], uniform permutations of 0 … D − 1.
ISINGLASS_TWINS(permutation_rows, const RowDraws&, int64_t* out, Stream)

}  // namespace isinglass
