// Tensors of first_order_path.h: proposals along a path of one-site moves.
#pragma once

#include "io/torch.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/lattice.h"
#include "kernels/path/first_order_path.h"

namespace isinglass::ops {

using torch::Tensor;

// Buffers of the paths of B chains: see first_order_path.h.
struct PathBuffers {
  Tensor length;   // int32 [B]
  Tensor site;     // int32 [B, max]
  Tensor from;     // uint8 [B, max]
  Tensor to;       // uint8 [B, max]
  Tensor scratch;  // float64 [B, sums_scratch(D)]

  static PathBuffers create(int64_t chains, int64_t sites, int64_t max_length,
                            torch::Device device);
};

// first_order_path.h. gradient [B, D] (binary) or [B, D, K] (one-hot); radius float64 []; log_q float64 [B].
void draw_path(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& radius, PathRule rule, Balancing balancing, Tensor& y,
               PathBuffers& paths, Tensor& log_q);
void score_path(Tensor& y, const Tensor& gradient, PathRule rule, Balancing balancing,
                PathBuffers& paths, Tensor& log_q);

// lattice_path.h: what steps on a lattice keep, at x and its gradient or differences; and such steps.
// On the CPU the scratch of `paths` holds the kept weights; y equals x before and after. rule: of
// gradients.
struct LocalPaths {
  // buffers.length: [most_steps, B], of the latest call's steps
  SiteTable what;
  PathRule rule;
  Balancing balancing;
  PathBuffers buffers = {};

  static LocalPaths create(SiteTable what, PathRule rule, Balancing balancing, const Tensor& x,
                           const Tensor& table, int64_t max_length, int64_t most_steps);
  // Whether the device has room for a chain: a GPU in a block's shared memory.
  static bool fit(const Tensor& x, const Tensor& table);
};
void local_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& radius, Tensor& x, Tensor& y,
                     Tensor& table, Tensor& energy, LocalPaths& paths, StepBuffers& counts);

}  // namespace isinglass::ops
