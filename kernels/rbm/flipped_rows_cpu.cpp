// Implements add_rows() for the vector lengths of AVX-512 and of other machines. This file is
// compiled with fused multiply-adds: products by ±1 are exact, so that fusing changes no bit.
#include "kernels/rbm/flipped_rows_cpu.h"

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

// Adds the rows to as many whole tiles of hidden units as fit from `first` on, with the sums in
// registers. Returns the first unit that is left.
template <int kVectors, int kBytes>
[[gnu::always_inline]] inline int64_t add_tiles(const FlippedUnits& moved, int64_t first,
                                                int64_t hidden, double* sum) {
  using Numbers = Vector<double, kBytes>;
  constexpr int kWidth = kBytes / sizeof(double), kTile = kWidth * kVectors;
  for (; first + kTile <= hidden; first += kTile) {
    Numbers total[kVectors];
    for (int k = 0; k < kVectors; ++k) total[k] = reinterpret_cast<Numbers*>(sum + first)[k];
    for (int n = 0; n < moved.count; ++n) {
      fetch_ahead(moved.row[n] + first + kTile);
      for (int k = 0; k < kVectors; ++k) {
        // This loop becomes one instruction, where __builtin_convertvector takes five.
        Numbers weights;
        for (int i = 0; i < kWidth; ++i) weights[i] = moved.row[n][first + k * kWidth + i];
        total[k] += weights * moved.sign[n];
      }
    }
    for (int k = 0; k < kVectors; ++k) reinterpret_cast<Numbers*>(sum + first)[k] = total[k];
  }
  return first;
}

template <int kBytes>
[[gnu::always_inline]] inline void add_rows_of(const FlippedUnits& moved, int64_t hidden,
                                               double* sum) {
  int64_t first = add_tiles<8, kBytes>(moved, 0, hidden, sum);
  first = add_tiles<4, kBytes>(moved, first, hidden, sum);
  first = add_tiles<2, kBytes>(moved, first, hidden, sum);
  for (int n = 0; n < moved.count; ++n) {
    for (int64_t h = first; h < hidden; ++h) sum[h] += moved.row[n][h] * moved.sign[n];
  }
}

}  // namespace

ISINGLASS_BY_WIDTH(void, add_rows, (const FlippedUnits& moved, int64_t hidden, double* sum),
                   (moved, hidden, sum))

}  // namespace isinglass::cpu
