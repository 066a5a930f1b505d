// The statistics of steps, per chain: acceptance, hops and energies that were not finite.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// Of this step, and summed over steps.
struct StepCounts {
  double* acceptance;      // [B] min(1, e^ratio), 0 where not finite
  int64_t* hops;           // [B] Hamming distance moved
  double* acceptance_sum;  // [B]
  int64_t* hops_sum;       // [B]
  int64_t* non_finite;     // [B]
};

ISINGLASS_HD inline void count_step(const StepCounts& counts, int64_t chain, double acceptance,
                                    int64_t hops, bool finite) {
  counts.acceptance[chain] = acceptance;
  counts.hops[chain] = hops;
  counts.acceptance_sum[chain] += acceptance;
  counts.hops_sum[chain] += hops;
  counts.non_finite[chain] += !finite;
}

// A step that always accepts; `finite`: all energies it drew from were.
ISINGLASS_HD inline void count_draw(const StepCounts& counts, int64_t chain, int64_t hops,
                                    bool finite) {
  count_step(counts, chain, 1, hops, finite);
}

// One chain's counts while a kernel takes many steps: read before the first, stored after the last.
struct ChainCounts {
  double acceptance, acceptance_sum;
  int64_t hops, hops_sum, non_finite;

  ISINGLASS_HD ChainCounts(const StepCounts& of, int64_t chain)
      : acceptance(of.acceptance[chain]),
        acceptance_sum(of.acceptance_sum[chain]),
        hops(of.hops[chain]),
        hops_sum(of.hops_sum[chain]),
        non_finite(of.non_finite[chain]) {}

  // Of chain 0.
  ISINGLASS_HD StepCounts pointers() {
    return {&acceptance, &hops, &acceptance_sum, &hops_sum, &non_finite};
  }
  ISINGLASS_HD void store(const StepCounts& to, int64_t chain) const {
    to.acceptance[chain] = acceptance;
    to.acceptance_sum[chain] = acceptance_sum;
    to.hops[chain] = hops;
    to.hops_sum[chain] = hops_sum;
    to.non_finite[chain] = non_finite;
  }
};

}  // namespace isinglass
