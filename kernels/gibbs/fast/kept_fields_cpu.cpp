// Implements kept_fields_cpu.h.
#include "kernels/gibbs/fast/kept_fields_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace isinglass::cpu {
namespace {

// These limits are measured on random graphs of mean degree 8 to 524 with 32 chains: keeping fields
// begins to save time with 16 neighbours (kManyNeighbours), and with 30 it takes as long as sums if
// half of a group's visits flip a site.
// A group that sums its fields is calm if at most the first share of its visits flip a site in any
// chain. One that keeps them stays so up to the second share.
constexpr double kCalmShare = 0.35, kLargestShare = 0.5;

// Returns the share of visits that flip a site in any of the chains, if chains are independent.
double moved_share(const SweepCounts& counts, int64_t chains, int64_t sites) {
  double none = 1;
  for (int64_t c = 0; c < chains; ++c) none *= 1 - counts.hops[c] / static_cast<double>(sites);
  return 1 - none;
}

}  // namespace

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
