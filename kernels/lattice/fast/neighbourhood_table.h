// Binary graphs on which no site has more than four neighbours (lattice.h), on a CPU with AVX-512.
// What a step asks of a site depends on the values of its neighbours alone, a pattern of four bits:
// all sixteen answers are found once, and steps look them up for sixteen chains at a time
// (chain_lanes_avx512_cpu.h). The answers are those of the functions named, bit for bit.
//
// Bit n of a pattern is the value of the site's neighbour n in the order of Lattice.
#pragma once

#include <cstdint>

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/lattice.h"

namespace isinglass {

constexpr int kPatternNeighbours = 4, kPatterns = 1 << kPatternNeighbours;

struct SitePatterns {
  int64_t sites;
  double constant;            // U(x) = constant + Σ_i (x_i ? half_flip : −half_flip)
  const int32_t* neighbour;   // [D, 4]; D where there is none: a site that is always 0
  const double* flip_energy;  // [D, 16] flip_energy()
  const double* half_flip;    // [D, 16] (u_{i,1} − u_{i,0} + flip_energy())/4
  const float* gradient;      // [D, 16] site_gradient()
  // [D, 16]: above this first word of a number FlipWeights::up() holds, below it does not, and at
  // it the number's other words decide
  const uint32_t* undecided;
};

// Where find_patterns() writes them.
struct PatternNumbers {
  int32_t* neighbour;
  double *flip_energy, *half_flip;
  float* gradient;
  uint32_t* undecided;
};

namespace cpu {
// Whether patterns are of use: the machine has the instructions, and the lattice is binary, has few
// neighbours and finite energies.
bool has_patterns(const Lattice& lattice);
// Returns the constant.
double find_patterns(const Lattice& lattice, const PatternNumbers& out);

// chromatic_sweep(): the same chains, draw for draw.
void pattern_sweep(const SitePatterns&, const Colouring&, int64_t chains, int64_t steps,
                   const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                   const StepCounts&);
}  // namespace cpu

}  // namespace isinglass
