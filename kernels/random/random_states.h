// Draws random states: independent sites (also given that few of them differ from a reference
// state), normal numbers or permutations. They serve as initial states, binarised images and
// restarted chains. Each number is Philox at (chain = id of the row, step, purpose, position =
// site); normal numbers use the positions of their calls (normal.h).
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

// Independent sites given that at most k of them have a value that differs from a reference. A draw
// goes through the sites with the number of changes that are left, and changes site i with
// probability change[i, left]. Its value is then drawn from the probabilities of the values that
// differ, or of those that do not.
struct LimitedSites {
  int64_t tables;        // N. Every rows / N successive rows share a table.
  int categories;        // K
  int64_t columns;       // C, above the largest k
  const double* p;       // [D, K]
  const bool* differs;   // [N, D, K]
  const double* change;  // [N, D, C]
  const int64_t* most;   // [N]: k
};

// Returns the value of site i (`entry`: its index n·D + i in the tables) at quantile u, and counts
// down what is left.
ISINGLASS_HD inline uint8_t limited_value(const LimitedSites& sites, int64_t i, int64_t entry,
                                          double u, int64_t& left) {
  const double change = sites.change[entry * sites.columns + left];
  const bool changes = u < change;
  if (changes) --left;
  const double* p = sites.p + i * sites.categories;
  const bool* differs = sites.differs + entry * sites.categories;
  const auto weight = [=](int64_t k) { return differs[k] == changes ? p[k] : 0; };
  double total = 0;
  for (int k = 0; k < sites.categories; ++k) total += weight(k);
  const double quantile = changes ? u / change : (u - change) / (1 - change);
  return static_cast<uint8_t>(inverse_cdf(sites.categories, weight, quantile * total, /*none=*/0));
}

// Writes out uint8 [rows, D] ~ Bernoulli(p). The probabilities of row r start at p + r·stride;
// stride 0 shares one row of probabilities.
ISINGLASS_TWINS(bernoulli_rows, const RowDraws&, const float* p, int64_t stride, uint8_t* out,
                Stream)
// Writes out uint8 [rows, D], where site i has value k < K with probability p[i·K + k], by the
// inverse CDF (kernels/base/categorical.h). p sums to 1 at every site.
ISINGLASS_TWINS(categorical_rows, const RowDraws&, const double* p, int categories, uint8_t* out,
                Stream)
// Writes out uint8 [rows, D] of independent sites of which few differ from a reference.
ISINGLASS_TWINS(limited_rows, const RowDraws&, const LimitedSites&, uint8_t* out, Stream)
// Writes out uint8 [rows, D], uniform in 0 … categories − 1.
ISINGLASS_TWINS(uniform_rows, const RowDraws&, int categories, uint8_t* out, Stream)
// Writes out float32 [rows, D] ~ N(0, I).
ISINGLASS_TWINS(normal_rows, const RowDraws&, float* out, Stream)
// Writes out int64 [rows, D], uniform permutations of 0 … D − 1.
ISINGLASS_TWINS(permutation_rows, const RowDraws&, int64_t* out, Stream)

}  // namespace isinglass
