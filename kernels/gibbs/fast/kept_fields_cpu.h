// Performs the sweeps of chromatic.h over binary sites of many neighbours, with flip_energy() of
// all sites kept from visit to visit and from sweep to sweep (CPU). A visit then costs nothing for
// the neighbours; a flip costs the degree. At low temperature almost no site flips. The lattice has
// exact sums (exact_sums_cpu.h), so that a kept field has no drift, and the draws are those of
// chromatic.h bit for bit.
//
// A group of eight chains begins to keep its fields when it was calm for several sweeps: few of its
// visits flipped a site, and nothing else changed its states (kCalmSweeps).
#pragma once

#include "kernels/gibbs/fast/chromatic_lanes_cpu.h"

namespace isinglass::cpu {

constexpr int32_t kCalmSweeps = 4;

struct KeptFields {
  double* field;   // [groups, D, 8]: flip_energy() at `state`, of a group that keeps it
  uint8_t* state;  // [B, D]: the states after the last sweep
  int32_t* calm;   // [groups]: the number of calm sweeps in sequence, at most kCalmSweeps
};

// Sweeps a group of 1 ≤ chains ≤ 8 chains x [chains, D], as sweep_lanes().
SweepCounts sweep_kept_group(const Lattice& lattice, const Colouring& colouring,
                             const KeptFields& kept, int64_t group, int64_t chains,
                             const PhiloxStream* draws, const double* beta, uint8_t* x);

// Performs chromatic_sweep() on a lattice with exact sums.
void kept_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains, int64_t steps,
                const int64_t* rng, const int64_t* chain_ids, const double* beta,
                const KeptFields& kept, uint8_t* x, double* energy, const StepCounts& counts);

}  // namespace isinglass::cpu
