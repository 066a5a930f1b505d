// Sums over the units of one chain of an RBM, in blocks of 32, a warp each, for the first thread:
// CUDA twins. tile: of fold_blocks().
#pragma once

#include "kernels/base/blocks.h"
#include "kernels/base/launch.h"
#include "kernels/rbm/free_energy.h"

namespace isinglass::cuda {

// Σ_i of term(i)
template <class F>
__device__ double visible_sum(int64_t count, double* tile, F term) {
  double total = 0;
  fold_blocks(
      site_blocks(count), tile,
      [&](int64_t b) {
        const int64_t i = b * kBlockSites + threadIdx.x % 32;
        return warp_sum(i < count ? term(i) : 0.0);
      },
      [&](double sum) { total += sum; });
  return total;
}

// Σ_h softplus(βa_h) as in free_energy_cpu.cpp; each unit, of βa_h, is given to see(h, unit).
template <class See>
__device__ double hidden_sum(const double* a, int64_t count, double* tile, See see,
                             double beta = 1) {
  double total = 0;
  fold_blocks(
      site_blocks(count), tile,
      [&](int64_t b) {
        const int64_t h = b * kBlockSites + threadIdx.x % 32;
        const double input = h < count ? a[h] : 0.0;
        const HiddenUnit unit(h < count ? beta * input : -INFINITY);
        if (h < count) see(h, unit);
        const double positive = warp_sum(input > 0 ? input : 0.0),
                     factors = warp_product(1 + unit.least);
        return beta * positive + elementary::log(factors);
      },
      [&](double sum) { total += sum; });
  return total;
}

}  // namespace isinglass::cuda
