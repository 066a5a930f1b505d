// Exchanges clusters between chains of a lattice (Houdayer 2001, "A cluster Monte Carlo algorithm
// for 2-dimensional spin glasses"; Zhu, Ochoa & Katzgraber 2015, who call the moves isoenergetic).
//
// Two chains x and y at the same β differ at some sites. A cluster is a connected component of
// these sites in the lattice's graph. The chains exchange their values on the cluster C that holds
// a chosen site. They agree at all neighbours of C outside of it, so that
//
//   U(x') − U(x) = Σ_{i ∈ C} [ u_{i,y_i} − u_{i,x_i}
//                              − Σ_{j ~ i} w_ij (c_ij(y_i, y_j) − c_ij(x_i, x_j)) ]
//
// with w_ij = ½ for j ∈ C and 1 otherwise, and U(x') + U(y') = U(x) + U(y). The chains differ at
// the same sites after the exchange, so that the reverse move is as probable, and the exchange
// leaves π(x) π(y) invariant without a rejection.
//
// Chains form groups of consecutive ones. Every kExchangeSteps steps, the chains of a group
// exchange by pairs: those whose numbers within the group add up to t modulo the size of the group,
// with t the number of exchanges so far, so that each chain meets all others in turn.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/lattice/lattice.h"
#include "kernels/random/philox.h"

namespace isinglass {

constexpr int64_t kExchangeSteps = 10;

// Returns true if the chains exchange clusters in the step of rng [2].
ISINGLASS_HD inline bool exchanges_now(const int64_t* rng) {
  return rng[1] % kExchangeSteps == kExchangeSteps - 1;
}

struct ChainPair {
  int64_t first, second;  // equal if the chain has no partner
};

// Returns the pair `number` of 0 … chains/group · ⌊group/2⌋ − 1 in the step of rng [2].
ISINGLASS_HD inline ChainPair chain_pair(int64_t group, int64_t number, const int64_t* rng) {
  const int64_t pairs = group / 2, turn = rng[1] / kExchangeSteps % group;
  const int64_t base = number / pairs * group, apart = number % pairs + 1;
  const int64_t middle = (turn + 1) / 2;
  return {base + (middle + apart - turn % 2) % group, base + (middle - apart + group) % group};
}

// Returns the site at which the search for a site of the cluster begins; it goes on in ascending
// order, from the last site to the first, up to a site at which the chains differ.
ISINGLASS_HD inline int64_t search_start(const Lattice& lattice, const int64_t* rng,
                                         const int64_t* chain_ids, const ChainPair& pair) {
  const int64_t first = pair.first < pair.second ? pair.first : pair.second;
  return step_draws(rng, chain_ids[first])
      .below(static_cast<uint32_t>(lattice.sites), Purpose::kSite);
}

// Returns a site's share of U(x') − U(x); the site is in the cluster.
ISINGLASS_HD inline double exchange_share(const Lattice& lattice, const uint8_t* x,
                                          const uint8_t* y, int64_t site) {
  const double* unary = lattice.unary + site * lattice.categories;
  double share = unary[y[site]] - unary[x[site]];
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    const int64_t j = lattice.neighbour[n];
    const double change =
        pair_coupling(lattice, n, y[site], y[j]) - pair_coupling(lattice, n, x[site], x[j]);
    share -= x[j] == y[j] ? change : 0.5 * change;
  }
  return share;
}

// Exchanges clusters of the chains x [B, D] and updates their energy [B]; beta [B] may be null for
// 1. B is a multiple of group. Does nothing in steps without an exchange. `work` is scratch memory
// [pairs, 2, D].
ISINGLASS_TWINS(exchange_clusters, const Lattice&, int64_t chains, int64_t group,
                const int64_t* rng, const int64_t* chain_ids, const double* beta, uint8_t* x,
                double* energy, int32_t* work, Stream)

}  // namespace isinglass
