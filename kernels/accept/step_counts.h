// Counts the statistics of steps for each chain: acceptance, sites changed (hops) and energies that
// were not finite.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// Holds the statistics of the last step and their sums over steps.
struct StepCounts {
  double* acceptance;      // [B]: min(1, e^ratio). It is 0 if the ratio is not finite.
  int64_t* hops;           // [B]: Hamming distance moved
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

// Counts a step that always accepts. `finite` is true if all energies that it drew from were
// finite.
ISINGLASS_HD inline void count_draw(const StepCounts& counts, int64_t chain, int64_t hops,
                                    bool finite) {
  count_step(counts, chain, 1, hops, finite);
}

// Holds one chain's counts while a kernel takes many steps. They are read before the first step and
// stored after the last.
struct ChainCounts {
  double acceptance, acceptance_sum;
  int64_t hops, hops_sum, non_finite;

  ISINGLASS_HD ChainCounts(const StepCounts& of, int64_t chain)
      : acceptance(of.acceptance[chain]),
        acceptance_sum(of.acceptance_sum[chain]),
        hops(of.hops[chain]),
        hops_sum(of.hops_sum[chain]),
        non_finite(of.non_finite[chain]) {}

  // Returns pointers to these counts, as those of chain 0.
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
