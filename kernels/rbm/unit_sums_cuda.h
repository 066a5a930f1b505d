// Sums over the units of one chain of an RBM, in blocks of 32 with one warp each (CUDA). The
// results are returned to the first thread. `tile` is the shared memory of fold_blocks().
#pragma once

#include "kernels/base/blocks.h"
#include "kernels/base/launch.h"
#include "kernels/rbm/free_energy.h"

namespace isinglass::cuda {

// Returns Σ_i term(i).
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

// Returns Σ_h softplus(βa_h), computed as in free_energy_cpu.cpp. Calls see(h, unit) for each unit,
// whose input is βa_h.
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
