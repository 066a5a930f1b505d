// Performs the sweeps of chromatic.h over binary sites for eight chains at a time (CPU). Each site
// is drawn as by draw_site(), bit for bit.
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/chain_lanes_cpu.h"

namespace isinglass::cpu {

// Holds the totals of one sweep for each chain.
struct SweepCounts {
  double difference[kChainLanes];  // It is the change of U.
  double hops[kChainLanes];
  double non_finite[kChainLanes];  // Counts the sites whose energies were not finite.
};

// Performs one sweep of 1 ≤ chains ≤ 8. `draws` and `beta` have 8 entries, the last chain's
// repeated; `lanes` is scratch memory [8·D].
SweepCounts sweep_lanes(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                        const PhiloxStream* draws, const double* beta, double* lanes, uint8_t* x);

// Does the same with flip_energy() of all sites kept in field [D, 8] (kept_fields_cpu.h): a visit
// reads the field of its site, and a flip updates those of the neighbours. fill_fields() computes
// them for the states x.
SweepCounts sweep_kept_lanes(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                             const PhiloxStream* draws, const double* beta, double* lanes,
                             double* field, uint8_t* x);
void fill_fields(const Lattice& lattice, int64_t chains, const uint8_t* x, double* lanes,
                 double* field);

}  // namespace isinglass::cpu
