// A whole step of a jump sampler (jump.h) on a graph with a neighbourhood table
// (neighbourhood_table.h), on a CPU: the threshold of a site (binary_rows.h) is found once for each
// value and neighbourhood, and looked up by all chains, at x to draw, and at y to score what was
// drawn; U(y) is summed in the second pass.
//
// Proposals and verdicts are those of draw_jump, lattice_evaluate, score_jump and accept, draw for
// draw; U differs by rounding. A step needs no gradient, and keeps nothing but the thresholds.
#pragma once

#include "kernels/accept/metropolis.h"
#include "kernels/jump/jump.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

struct LatticeJumpStep {
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

namespace cpu {
void find_thresholds(const JumpShape&, const NeighbourhoodTable&, double scale, int32_t* threshold);
void lattice_jump_step(const LatticeJumpStep&);
}  // namespace cpu

}  // namespace isinglass
