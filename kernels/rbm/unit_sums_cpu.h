// Sums over the units of one chain of an RBM, in blocks of 32 (CPU).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {

// Returns Σ_i term(i) over the sites.
template <class F>
[[gnu::always_inline]] inline double visible_sum(int64_t count, F term) {
  double total = 0, block[kBlockSites];
  int64_t first = 0;
  for (; first + kBlockSites <= count; first += kBlockSites) {
    for (int i = 0; i < kBlockSites; ++i) block[i] = term(first + i);
    total += tree_sum(block);
  }
  if (first == count) return total;
  std::fill_n(block, kBlockSites, 0.0);
  for (int64_t i = first; i < count; ++i) block[i - first] = term(i);
  return total + tree_sum(block);
}

// Returns Σ_h softplus(βa_h). Writes σ(a) to `on` unless it is null; β must then be 1.
double hidden_sum(const double* a, int64_t count, float* on, double beta = 1);
// Writes the same sums at two values of β.
void hidden_sums(const double* a, int64_t count, const double* beta, double* sum);

}  // namespace isinglass::cpu
