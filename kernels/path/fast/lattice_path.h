// A whole step of a path sampler (first_order_path.h, exact_path.h) on a sparse graph (lattice.h), whose
// cost does not grow with the number of sites but for the sums over blocks of 32: a move changes
// the weights of its site and of its neighbours and no others.
//
//   kGradient (gwg, pafs, nb):  draw the path from the kept weights; ∇U anew where a neighbour
//                               moved; score the reverse from the weights at y
//   kDifferences (lb, pas):     draw a move, Δ anew at its site and the neighbours, score its
//                               reverse; then the next
//   U(y) − U(x) = Σ_l e_i(to) − e_i(from) along the path, in float64; metropolis.h; a rejected path
//   is walked back
//
// Proposals and verdicts are those of draw_path, score_path, follow_path, lattice_evaluate and
// accept, draw for draw: tables are recomputed from the neighbours, weights and sums from their
// parts. U alone follows its differences, and is evaluated afresh every kRenewal steps. A call
// takes any number of steps. The CPU keeps the weights between calls; a GPU makes them anew from
// the table and keeps them, y and the table in shared memory, as long as a call lasts.
#pragma once

#include "kernels/lattice/lattice.h"
#include "kernels/accept/metropolis.h"
#include "kernels/path/first_order_path.h"

namespace isinglass {

constexpr uint32_t kRenewal = 4096;

struct LocalPathStep {
  int64_t steps;
  PathShape shape;  // rule: of kGradient
  SiteTable what;
  Lattice lattice;
  const int64_t* rng;        // {seed, step}
  const int64_t* chain_ids;  // [B]
  const double* radius;      // []
  uint8_t *x, *y;            // [B, D], equal between steps; y: CPU
  float* table;              // at x: ∇U or Δ, [B, D] or [B, D, K]
  double* energy;            // U(x) [B]
  double* kept;              // [B, kept_weights(D)]; CPU
  Paths paths;               // without scratch; length [steps, B], the others of the last step
  StepCounts counts;
};

namespace cpu {
// Numbers of a chain that stay from step to step.
int64_t kept_weights(int64_t sites);
// The weights at x, before the first step; x [B, D], with its table.
void keep_weights(const PathShape&, SiteTable, const uint8_t* x, const float* table, double* kept,
                  Stream);
void local_path_step(const LocalPathStep&, Stream);
}  // namespace cpu

namespace cuda {
// Whether a block of the device has shared memory for a chain; table: its numbers a chain.
bool local_path_fits(int64_t sites, int64_t table, int device);
void local_path_step(const LocalPathStep&, Stream);
}  // namespace cuda

}  // namespace isinglass
