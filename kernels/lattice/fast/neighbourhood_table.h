// Tabulates local energies of binary graphs on which no site has more than four neighbours
// (lattice.h). The local energies of a site then depend only on its neighbours' values, four bits:
// its neighbourhood. What steps need is computed once, on a CPU, for all sixteen neighbourhoods of
// each site. Steps look it up for sixteen chains at a time (sixteen_lanes_cpu.h), or in each thread
// of a GPU. The entries are bitwise the values of the functions named below.
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
  const int32_t* neighbour;   // [D, 4]. D stands for a missing neighbour, a site that is always 0.
  const double* flip_energy;  // [D, 16]: flip_energy()
  const double* half_flip;    // [D, 16]: (u_{i,1} − u_{i,0} + flip_energy())/4
  const float* gradient;      // [D, 16]: local_table()
  // [D, 16]. BernoulliConditional::one() holds if the first word of a random number exceeds this
  // word, and fails if it is below; if they are equal, the number's other bits decide.
  const uint32_t* threshold_word;
};

// Holds a site's neighbours, read in one 16-byte load.
struct alignas(16) Neighbours {
  int32_t site[kTableNeighbours];
};

// Returns a site's neighbourhood, where value_of(j) is the value of site j; j may be D.
template <class ValueOf>
ISINGLASS_DEVICE uint32_t neighbourhood_of(const NeighbourhoodTable& table, int64_t site,
                                           ValueOf value_of) {
  const Neighbours near = reinterpret_cast<const Neighbours*>(table.neighbour)[site];
  uint32_t neighbourhood = 0;
  for (int n = 0; n < kTableNeighbours; ++n) neighbourhood |= value_of(near.site[n]) << n;
  return neighbourhood;
}

// Returns a site's part of U(x) without the constant. `place` is the index of its neighbourhood in
// the tables [D, 16].
ISINGLASS_HD inline double tabulated_energy(const NeighbourhoodTable& table, int64_t place,
                                            bool one) {
  const double half = table.half_flip[place];
  return one ? half : -half;
}

// Refers to the arrays that tabulate_neighbourhoods() fills.
struct NeighbourhoodBuffers {
  int32_t* neighbour;
  double *flip_energy, *half_flip;
  float* gradient;
  uint32_t* threshold_word;
};

namespace cpu {
// has_neighbourhood_table() returns true if a table can be made. The machine must have vector
// instructions (any since 2006 has), and the lattice must be binary, with at most four neighbours
// per site, finite energies, and at most kMostTableSites sites. A table takes about 400 bytes per
// site and would otherwise fill a device.
inline constexpr int64_t kMostTableSites = int64_t{1} << 22;
bool has_neighbourhood_table(const Lattice& lattice);
// Returns NeighbourhoodTable::threshold_word for the energy difference d.
uint32_t find_threshold_word(double d);
// Fills the tables and returns NeighbourhoodTable::constant.
double tabulate_neighbourhoods(const Lattice& lattice, const NeighbourhoodBuffers& out);
}  // namespace cpu

}  // namespace isinglass
