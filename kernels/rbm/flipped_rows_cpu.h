// Updates the inputs of an RBM's hidden units after visible units have changed (CPU): a += Σ ± rows
// of Wᵀ.
#pragma once

#include <cstdint>

namespace isinglass::cpu {

constexpr int64_t kWordSites = 64;  // A word has one bit for each of this many sites.

// Lists the rows of Wᵀ to be added, those of the changed units among at most kUnits.
struct FlippedUnits {
  static constexpr int64_t kUnits = 8 * kWordSites;
  const float* row[kUnits];
  double sign[kUnits];
  int count;
};

constexpr int kAhead = 64;  // This is the number of a row's weights in the widest tile.

// Prefetches the next weights of a row. Rows are far apart, so that the hardware does not prefetch
// them.
inline void fetch_ahead(const float* weights) {
  for (int k = 0; k < kAhead; k += 16) __builtin_prefetch(weights + k);
}

// Adds Σ_n sign_n·row_n to sum[0 … hidden).
void add_rows(const FlippedUnits& moved, int64_t hidden, double* sum);

}  // namespace isinglass::cpu
