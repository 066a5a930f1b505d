// Whole steps of a jump sampler (jump.h) on a graph with a neighbourhood table
// (neighbourhood_table.h): the threshold of a site (binary_rows.h) is found once for each value and
// neighbourhood, and looked up by all chains, at x to draw, and at y to score what was drawn; U(y) is
// summed in the second pass.
//
// Proposals and verdicts are those of draw_jump, lattice_evaluate, score_jump and accept, draw for
// draw; U differs by rounding. A step needs no gradient, and keeps nothing but the thresholds. A call
// takes any number of steps; a GPU keeps a chain in shared memory as long as it lasts.
#pragma once

#include "kernels/accept/metropolis.h"
#include "kernels/base/differences.h"
#include "kernels/jump/jump.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

struct LatticeJumpStep {
  int64_t steps;
  JumpShape shape;  // binary
  NeighbourhoodTable neighbourhoods;
  const int32_t* threshold;  // [D, 2, 16]: of a site's value and neighbourhood
  const int64_t* rng;        // {seed, step}
  const int64_t* chain_ids;  // [B]
  uint8_t* x;                // [B, D]
  double* energy;            // U(x) [B]
  bool unadjusted;
  StepCounts counts;
};

constexpr int kSiteThresholds = 2 * kNeighbourhoods;

// flip_difference() of the site, value and neighbourhood of threshold i.
ISINGLASS_HD inline float tabulated_difference(const NeighbourhoodTable& neighbourhoods,
                                               int64_t i) {
  const int64_t place = i / kSiteThresholds * kNeighbourhoods + i % kNeighbourhoods;
  return flip_difference(neighbourhoods.gradient[place], static_cast<int>(i / kNeighbourhoods % 2));
}

// threshold [D, 2, 16], of a scale that all chains have.
ISINGLASS_TWINS(find_thresholds, const JumpShape&, const NeighbourhoodTable&, const double* scale,
                int32_t* threshold, Stream)
ISINGLASS_TWINS(lattice_jump_step, const LatticeJumpStep&, Stream)

namespace cuda {
// Whether a block of the device has shared memory for a chain.
bool lattice_jump_fits(int64_t sites, int device);
}  // namespace cuda

}  // namespace isinglass
