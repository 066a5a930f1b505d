// Energies and tables of lattice.h for eight chains at a time, a lane each (CPU): the numbers of
// local_energy() and site_energy(), bit for bit.
#pragma once

#include "kernels/lattice/fast/chain_lanes_cpu.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {

// lattice_evaluate() of 1 ≤ chains ≤ 8. lanes: scratch [8·D].
void evaluate_lanes(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                    LocalTable what, double* lanes, double* energy, float* table);

}  // namespace isinglass::cpu
