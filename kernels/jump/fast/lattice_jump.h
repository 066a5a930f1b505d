// Performs whole steps of a jump sampler (jump.h) on a graph with a neighbourhood table
// (neighbourhood_table.h). The threshold of a site (binary_rows.h) is computed once for each value
// and neighbourhood. All chains look it up, at x to draw and at y to score the proposal. U(y) is
// summed in the second pass.
//
// Proposals and acceptances equal those of draw_jump, lattice_evaluate, score_jump and accept, for
// the same random numbers; U differs by rounding. A step needs no gradient, and stores nothing but
// the thresholds. A call takes any number of steps; a GPU keeps a chain in shared memory during a
// call.
#pragma once

#include "kernels/accept/metropolis.h"
#include "kernels/base/differences.h"
#include "kernels/jump/jump.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

struct LatticeJumpStep {
  int64_t steps;
  JumpShape shape;  // The sites are binary.
  NeighbourhoodTable neighbourhoods;
  // [D, 2, 16]. It is indexed by a site, its value and its neighbourhood.
  const int32_t* threshold;
  const int64_t* rng;        // {seed, step}
  const int64_t* chain_ids;  // [B]
  uint8_t* x;                // [B, D]
  double* energy;            // U(x) [B]
  bool unadjusted;
  StepCounts counts;
};

constexpr int kSiteThresholds = 2 * kNeighbourhoods;

// Returns flip_difference() for the site, value and neighbourhood of threshold i.
ISINGLASS_HD inline float tabulated_difference(const NeighbourhoodTable& neighbourhoods,
                                               int64_t i) {
  const int64_t place = i / kSiteThresholds * kNeighbourhoods + i % kNeighbourhoods;
  return flip_difference(neighbourhoods.gradient[place], static_cast<int>(i / kNeighbourhoods % 2));
}

// Writes threshold [D, 2, 16] for a scale that all chains share.
ISINGLASS_TWINS(find_thresholds, const JumpShape&, const NeighbourhoodTable&, const double* scale,
                int32_t* threshold, Stream)
ISINGLASS_TWINS(lattice_jump_step, const LatticeJumpStep&, Stream)

namespace cuda {
// Returns true if a block of the device has enough shared memory for a chain.
bool lattice_jump_fits(int64_t sites, int device);
}  // namespace cuda

}  // namespace isinglass
