// Binary graphs on which no site has more than four neighbours (lattice.h).
// The local energies of a site depend on the values of its neighbours alone, four bits: its
// neighbourhood. What steps read of them is tabulated once, on a CPU, for all sixteen neighbourhoods
// and looked up for sixteen chains at a time (sixteen_lanes_cpu.h), or by a lane of a GPU for each.
// Entries equal the functions named, bit for bit.
//
// Bit n of a neighbourhood is the value of the site's neighbour n in the order of Lattice.
#pragma once

#include <cstdint>

#include "kernels/lattice/lattice.h"

namespace isinglass {

constexpr int kTableNeighbours = 4, kNeighbourhoods = 1 << kTableNeighbours;

struct NeighbourhoodTable {
  int64_t sites;
  double constant;            // U(x) = constant + Σ_i (x_i ? half_flip : −half_flip)
  const int32_t* neighbour;   // [D, 4]; D where there is none: a site that is always 0
  const double* flip_energy;  // [D, 16] flip_energy()
  const double* half_flip;    // [D, 16] (u_{i,1} − u_{i,0} + flip_energy())/4
  const float* gradient;      // [D, 16] site_gradient()
  // [D, 16]: above this first word of a number BernoulliConditional::one() holds, below it does
  // not, and at it the number's other words decide
  const uint32_t* threshold_word;
};

struct alignas(16) Neighbours {  // of a site, read at once
  int32_t site[kTableNeighbours];
};

// A site's neighbourhood where a site, D among them, has the value value_of(site).
template <class ValueOf>
ISINGLASS_DEVICE uint32_t neighbourhood_of(const NeighbourhoodTable& table, int64_t site,
                                           ValueOf value_of) {
  const Neighbours near = reinterpret_cast<const Neighbours*>(table.neighbour)[site];
  uint32_t neighbourhood = 0;
  for (int n = 0; n < kTableNeighbours; ++n) neighbourhood |= value_of(near.site[n]) << n;
  return neighbourhood;
}

// A site's part of U(x) beside the constant; place: of its neighbourhood in the tables [D, 16].
ISINGLASS_HD inline double tabulated_energy(const NeighbourhoodTable& table, int64_t place,
                                            bool one) {
  const double half = table.half_flip[place];
  return one ? half : -half;
}

// Where tabulate_neighbourhoods() writes them.
struct NeighbourhoodBuffers {
  int32_t* neighbour;
  double *flip_energy, *half_flip;
  float* gradient;
  uint32_t* threshold_word;
};

namespace cpu {
// Whether a table can be made: the machine has vectors (any since 2006 does), and the lattice is
// binary, has few neighbours and finite energies, and is not so large that a table of some 400 bytes a
// site would fill a device.
inline constexpr int64_t kMostTableSites = int64_t{1} << 22;
bool has_neighbourhood_table(const Lattice& lattice);
// NeighbourhoodTable::threshold_word of a difference in energy.
uint32_t find_threshold_word(double d);
// Returns the constant.
double tabulate_neighbourhoods(const Lattice& lattice, const NeighbourhoodBuffers& out);
}  // namespace cpu

}  // namespace isinglass
