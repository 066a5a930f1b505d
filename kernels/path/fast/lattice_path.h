// Performs whole steps of a path sampler (first_order_path.h, exact_path.h) on a sparse graph
// (lattice.h). A move changes the weights of its site and of the site's neighbours only, so that
// the cost of a step does not grow with the number of sites, except for the sums over blocks of 32.
//
//   kGradient (gwg, pafs, nb):  draws the path from the current weights, recomputes ∇U where a
//                               neighbour moved, and scores the reverse path from the weights at y
//   kDifferences (lb, pas):     draws a move, recomputes Δ at its site and the neighbours, scores
//                               the reverse of the move, and goes on to the next
//   U(y) − U(x) = Σ_l e_i(to) − e_i(from) along the path, in float64
//   metropolis.h accepts or rejects; a rejected path is walked back
//
// Chains may have inverse temperatures: chain c then proposes and accepts by β_c U, while its table
// and its energy remain those of U.
//
// On a CPU a binary lattice with exact sums (lattice/exact_sums_cpu.h), which has many neighbours,
// may keep flip_energy() of all sites: a move then adds to its d neighbours' numbers instead of
// summing over the neighbours of each, which costs d in place of d². The numbers are the same bits.
//
// Proposals and acceptances equal those of draw_path, score_path, advance_exact_path,
// lattice_evaluate and accept, for the same random numbers: tables are recomputed from the
// neighbours, and weights and sums from their parts. Only U accumulates its differences; it is
// recomputed every kRefreshEvery steps. A call takes any number of steps. The CPU keeps the weights
// between calls, as long as the chain's β does not change. A GPU computes the weights at the start
// of a call and keeps them, y and the table in shared memory during the call. If there are
// neighbourhood tables, it stores the sites' neighbourhoods, one byte each, in place of gradients,
// and looks the gradients up.
#pragma once

#include <type_traits>

#include "kernels/accept/metropolis.h"
#include "kernels/base/chain_scale.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/lattice/lattice.h"
#include "kernels/path/first_order_path.h"

namespace isinglass {

constexpr uint32_t kRefreshEvery = 4096;

struct LatticePathStep {
  int64_t steps;
  PathShape shape;  // Its rule applies to kGradient.
  LocalTable what;
  Lattice lattice;
  const int64_t* rng;        // {seed, step}
  const int64_t* chain_ids;  // [B]
  ChainScale radius;         // R
  uint8_t *x, *y;            // [B, D]. y equals x between steps and is used on the CPU only.
  float* table;              // [B, D] or [B, D, K]: ∇U or Δ at x
  double* energy;            // U(x) [B]
  double* kept;              // [B, cached_weights(D)]. Only the CPU uses it.
  // It has no scratch. length is [steps, B]; the other buffers belong to the last step.
  Paths paths;
  StepCounts counts;
  const double* beta = nullptr;  // [B]. Null means 1.
  // [B]: the β of the kept weights, NaN if there are none. It is used on the CPU only, and only if
  // beta is given.
  double* kept_beta = nullptr;
  // There is no table if it has 0 sites. Only the GPU uses it.
  NeighbourhoodTable neighbourhoods = {};
  // Hold flip_energy() of all sites [B, D], and the states that they are of [B, D], which may be
  // invalid; null if they are not kept. They are used on the CPU only.
  double* field = nullptr;
  uint8_t* field_state = nullptr;
};

// Returns β of a chain.
ISINGLASS_HD inline double beta_of(const LatticePathStep& step, int64_t chain) {
  return step.beta ? step.beta[chain] : 1;
}

// Returns the weights of a chain, given its table.
template <class Weights>
ISINGLASS_HD Weights weights_of(const PathShape& shape, const float* table, double beta) {
  const auto beta32 = static_cast<float>(beta);
  if constexpr (std::is_same_v<Weights, CategoricalGradientWeights> ||
                std::is_same_v<Weights, ExactValueWeights>) {
    return {{table, shape.balancing, shape.categories, beta32}};
  } else {
    return {{table, shape.balancing, beta32}};
  }
}

// Performs the Metropolis test at β, given U at both states.
ISINGLASS_HD inline Verdict path_verdict(double beta, double energy, double proposed,
                                         double log_forward, double log_backward, double u) {
  const double at_x = beta * energy, at_y = beta * proposed;
  return metropolis({&at_x, &at_y, &log_forward, &log_backward}, 0, u);
}

// Returns U(y) − U(x), summed over the moves; y is walked back and restored. If several lanes share
// a chain (path_moves.h), all must call it.
template <class Team>
ISINGLASS_DEVICE double path_difference(const Lattice& lattice, const Path& path, uint8_t* y,
                                        const Team& lanes) {
  double difference = 0;
  for (int64_t l = path.length; l-- > 0;) {
    const int from = path.from[l], to = path.to[l];
    if (from == to) continue;
    const int64_t site = path.site[l];
    difference += local_energy(lattice, y, site, to) - local_energy(lattice, y, site, from);
    lanes.sync();
    if (lanes.leads()) y[site] = static_cast<uint8_t>(from);
    lanes.sync();
  }
  for (int64_t l = 0; l < path.length && lanes.leads(); ++l) {
    if (path.from[l] != path.to[l]) y[path.site[l]] = path.to[l];
  }
  lanes.sync();
  return difference;
}

// Copies y to x along the path. Returns the number of sites changed.
ISINGLASS_HD inline int64_t take_path(const Path& path, uint8_t* x, const uint8_t* y) {
  int64_t hops = 0;
  for (int64_t l = 0; l < path.length; ++l) {
    const int64_t site = path.site[l];
    hops += x[site] != y[site];
    x[site] = y[site];
  }
  return hops;
}

// Copies x to y along the path.
ISINGLASS_HD inline void undo_path(const Path& path, const uint8_t* x, uint8_t* y) {
  for (int64_t l = 0; l < path.length; ++l) y[path.site[l]] = x[path.site[l]];
}

// Performs the steps of all chains.
ISINGLASS_TWINS(lattice_path_step, const LatticePathStep&, Stream)

namespace cpu {
// Returns how many numbers of a chain are kept from step to step.
int64_t cached_weights(int64_t sites);
// Computes the kept weights at x [B, D], given its table, before the first step.
void cache_weights(const PathShape&, LocalTable, const uint8_t* x, const float* table, double* kept,
                   Stream);
}  // namespace cpu

namespace cuda {
// Returns the shared memory of a chain's table [bytes].
int64_t lattice_table_bytes(const PathShape&, LocalTable, bool tabulated);
// Returns true if a block of the device has enough shared memory for a chain with such a table.
bool lattice_path_fits(int64_t sites, int64_t table_bytes, int device);
}  // namespace cuda

}  // namespace isinglass
