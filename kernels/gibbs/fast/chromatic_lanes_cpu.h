// Sweeps of chromatic.h through binary sites for eight chains at a time: draw_site() of every site,
// bit for bit (CPU).
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/chain_lanes_cpu.h"

namespace isinglass::cpu {

// What a sweep of a chain adds up.
struct SweepCounts {
  double difference[kChainLanes];  // of U
  double hops[kChainLanes];
  double broken[kChainLanes];  // sites whose energies were not finite
};

// One sweep of 1 ≤ chains ≤ 8; draws and beta [8] of which the last ones repeat; lanes: scratch
// [8·D].
SweepCounts sweep_lanes(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                        const Draws* draws, const double* beta, double* lanes, uint8_t* x);

}  // namespace isinglass::cpu
