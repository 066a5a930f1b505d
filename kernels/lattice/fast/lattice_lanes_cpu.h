// Computes the energies and tables of lattice.h for eight chains at a time, one per vector lane
// (CPU). The numbers are bitwise those of local_energy() and site_energy().
#pragma once

#include "kernels/lattice/fast/chain_lanes_cpu.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cpu {

// Computes lattice_evaluate() of 1 ≤ chains ≤ 8 on a lattice without tables. `lanes` is scratch
// memory [8·D].
void evaluate_lanes(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                    LocalTable what, double* lanes, double* energy, float* table);

}  // namespace isinglass::cpu
