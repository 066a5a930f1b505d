// A whole step of a path sampler (first_order_path.h, exact_path.h) on a sparse graph (lattice.h),
// whose cost does not grow with the number of sites but for the sums over blocks of 32: a move
// changes the weights of its site and of its neighbours and no others.
//
//   kGradient (gwg, pafs, nb):  draw the path from the kept weights; ∇U anew where a neighbour
//                               moved; score the reverse from the weights at y
//   kDifferences (lb, pas):     draw a move, Δ anew at its site and the neighbours, score its
//                               reverse; then the next
//   U(y) − U(x) = Σ_l e_i(to) − e_i(from) along the path, in float64
//   metropolis.h; a rejected path is walked back
//
// Chains may have inverse temperatures: chain c then proposes and accepts by β_c U, while its table
// and its energy stay those of U.
//
// Proposals and verdicts are those of draw_path, score_path, advance_exact_path, lattice_evaluate
// and accept, draw for draw: tables are recomputed from the neighbours, weights and sums from their
// parts. U alone follows its differences, and is evaluated afresh every kRenewal steps. A call
// takes any number of steps. The CPU keeps the weights between calls, while a chain has the β that
// they are of; a GPU makes them anew and keeps them, y and the table in shared memory, as long as a
// call lasts. Where there are neighbourhood tables, it keeps the sites' neighbourhoods, a byte each, in
// place of gradients, and looks these up.
#pragma once

#include <type_traits>

#include "kernels/accept/metropolis.h"
#include "kernels/base/chain_scale.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/lattice/lattice.h"
#include "kernels/path/first_order_path.h"

namespace isinglass {

constexpr uint32_t kRenewal = 4096;

struct LatticePathStep {
  int64_t steps;
  PathShape shape;  // rule: of kGradient
  LocalTable what;
  Lattice lattice;
  const int64_t* rng;        // {seed, step}
  const int64_t* chain_ids;  // [B]
  ChainScale radius;         // R
  uint8_t *x, *y;            // [B, D], equal between steps; y: CPU
  float* table;              // at x: ∇U or Δ, [B, D] or [B, D, K]
  double* energy;            // U(x) [B]
  double* kept;              // [B, cached_weights(D)]; CPU
  Paths paths;               // without scratch; length [steps, B], the others of the last step
  StepCounts counts;
  const double* beta = nullptr;  // [B], null: 1
  double* kept_beta = nullptr;   // [B]: of the kept weights, NaN: of none; CPU, where beta is given
  NeighbourhoodTable neighbourhoods = {};  // of no sites: none; GPU
};

// β of a chain
ISINGLASS_HD inline double beta_of(const LatticePathStep& step, int64_t chain) {
  return step.beta ? step.beta[chain] : 1;
}

// The weights of a chain with its table of what the step is made of.
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

// The Metropolis test at β of a chain of which U is known on both sides.
ISINGLASS_HD inline Verdict path_verdict(double beta, double energy, double proposed,
                                         double log_forward, double log_backward, double u) {
  const double at_x = beta * energy, at_y = beta * proposed;
  return metropolis({&at_x, &at_y, &log_forward, &log_backward}, 0, u);
}

// U(y) − U(x), one move after the other; y is walked back and restored. Of lanes that share a chain
// (path_moves.h), all call it.
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

// x becomes y where the path has been. Returns the hops.
ISINGLASS_HD inline int64_t take_path(const Path& path, uint8_t* x, const uint8_t* y) {
  int64_t hops = 0;
  for (int64_t l = 0; l < path.length; ++l) {
    const int64_t site = path.site[l];
    hops += x[site] != y[site];
    x[site] = y[site];
  }
  return hops;
}

// y becomes x.
ISINGLASS_HD inline void undo_path(const Path& path, const uint8_t* x, uint8_t* y) {
  for (int64_t l = 0; l < path.length; ++l) y[path.site[l]] = x[path.site[l]];
}

// The steps of all chains.
ISINGLASS_TWINS(lattice_path_step, const LatticePathStep&, Stream)

namespace cpu {
// Numbers of a chain that stay from step to step.
int64_t cached_weights(int64_t sites);
// The weights at x, before the first step; x [B, D], with its table.
void cache_weights(const PathShape&, LocalTable, const uint8_t* x, const float* table, double* kept,
                   Stream);
}  // namespace cpu

namespace cuda {
// What a chain's table takes in shared memory, bytes.
int64_t lattice_table_bytes(const PathShape&, LocalTable, bool tabulated);
// Whether a block of the device has shared memory for a chain with such a table.
bool lattice_path_fits(int64_t sites, int64_t table_bytes, int device);
}  // namespace cuda

}  // namespace isinglass
