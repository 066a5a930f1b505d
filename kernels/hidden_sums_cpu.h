// Sums over the units of one chain of an RBM, in blocks of 32 (CPU).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/site_sums_cpu.h"

namespace isinglass::cpu {

// Σ_i of term(i) over the sites
template <class F>
[[gnu::always_inline]] inline double visible_sum(int64_t count, F term) {
  double total = 0;
  for (int64_t first = 0; first < count; first += kBlockSites) {
    double block[kBlockSites] = {};
    const int64_t size = std::min<int64_t>(kBlockSites, count - first);
    for (int64_t i = 0; i < size; ++i) block[i] = term(first + i);
    total += tree_sum(block);
  }
  return total;
}

// Σ_h softplus(a_h), and σ(a) where it is wanted.
double hidden_sum(const double* a, int64_t count, float* on);

}  // namespace isinglass::cpu
