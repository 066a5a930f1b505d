// What moved units of an RBM change at the inputs of the hidden ones (CPU): a += Σ ± rows of Wᵀ.
#pragma once

#include <cstdint>

namespace isinglass::cpu {

constexpr int64_t kWordSites = 64;  // a bit each

// Rows of Wᵀ to be added, those of the flipped units among a few.
struct FlippedUnits {
  static constexpr int64_t kUnits = 8 * kWordSites;
  const float* row[kUnits];
  double sign[kUnits];
  int count;
};

constexpr int kAhead = 64;  // weights of a row in the widest tile

// Rows lie far apart, so that the hardware does not fetch them ahead of time.
inline void fetch_ahead(const float* weights) {
  for (int k = 0; k < kAhead; k += 16) __builtin_prefetch(weights + k);
}

// sum[0 … hidden) += Σ_n sign_n·row_n.
void add_rows(const FlippedUnits& moved, int64_t hidden, double* sum);

}  // namespace isinglass::cpu
