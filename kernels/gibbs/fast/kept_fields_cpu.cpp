// Implements kept_fields_cpu.h.
#include "kernels/gibbs/fast/kept_fields_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace isinglass::cpu {
namespace {

// These limits are measured on random graphs of mean degree 8 to 524 with 32 chains: keeping fields
// begins to save time with 16 neighbours, and with 30 it takes as long as sums if half of a group's
// visits flip a site.
constexpr double kLeastDegree = 16;
// A group that sums its fields is calm if at most the first share of its visits flip a site in any
// chain. One that keeps them stays so up to the second share.
constexpr double kCalmShare = 0.35, kLargestShare = 0.5;

// Returns the largest sum of absolute values in a field.
double largest_sum(const Lattice& lattice) {
  double largest = 0;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    double sum = std::fabs(lattice.unary[2 * i + 1] - lattice.unary[2 * i]);
    for (int64_t n = lattice.offset[i]; n < lattice.offset[i + 1]; ++n) {
      sum += std::fabs(lattice.coupling[n]);
    }
    if (!(sum < INFINITY)) return INFINITY;
    largest = std::max(largest, sum);
  }
  return largest;
}

// Returns the share of visits that flip a site in any of the chains, if chains are independent.
double moved_share(const SweepCounts& counts, int64_t chains, int64_t sites) {
  double none = 1;
  for (int64_t c = 0; c < chains; ++c) none *= 1 - counts.hops[c] / static_cast<double>(sites);
  return 1 - none;
}

}  // namespace

bool keeps_fields(const Lattice& lattice) {
  if (lattice.categories != 2 || lattice.table) return false;
  const auto sites = static_cast<double>(lattice.sites);
  if (static_cast<double>(lattice.offset[lattice.sites]) < kLeastDegree * sites) return false;
  const double largest = largest_sum(lattice);
  return largest > 1e-200 && largest < 1e200;  // Numbers of this size can be put on the grid.
}

void round_to_grid(const Lattice& lattice, double* unary, double* coupling) {
  // The sum with 1.5 · 2^52 q has multiples of q as its neighbours, since |value| < 2^51 q.
  const double shift = std::ldexp(3, std::ilogb(largest_sum(lattice)) + 1);
  const auto rounded = [shift](double value) { return (value + shift) - shift; };
  for (int64_t i = 0; i < lattice.sites; ++i) {
    unary[2 * i] = 0;
    unary[2 * i + 1] = rounded(lattice.unary[2 * i + 1] - lattice.unary[2 * i]);
  }
  std::transform(lattice.coupling, lattice.coupling + lattice.offset[lattice.sites], coupling,
                 rounded);
}

SweepCounts sweep_kept_group(const Lattice& lattice, const Colouring& colouring,
                             const KeptFields& kept, int64_t group, int64_t chains,
                             const PhiloxStream* draws, const double* beta, uint8_t* x) {
  const int64_t sites = lattice.sites;
  const auto bytes = static_cast<std::size_t>(chains * sites);
  uint8_t* const state = kept.state + group * kChainLanes * sites;
  double* const field = kept.field + group * kChainLanes * sites;
  int32_t& calm = kept.calm[group];
  if (std::memcmp(state, x, bytes) != 0) calm = 0;
  const bool keeps = calm == kCalmSweeps;
  double* const lanes = lane_scratch(sites);
  const SweepCounts counts =
      keeps ? sweep_kept_lanes(lattice, colouring, chains, draws, beta, lanes, field, x)
            : sweep_lanes(lattice, colouring, chains, draws, beta, lanes, x);
  std::memcpy(state, x, bytes);
  const double share = moved_share(counts, chains, sites);
  if (share > (keeps ? kLargestShare : kCalmShare)) {
    calm = 0;
  } else if (!keeps && ++calm == kCalmSweeps) {
    fill_fields(lattice, chains, x, lanes, field);
  }
  return counts;
}

}  // namespace isinglass::cpu
