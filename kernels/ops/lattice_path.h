// Tensors of lattice_path.h: whole steps of path samplers on a lattice.
#pragma once

#include "kernels/ops/first_order_path.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// What steps on a lattice keep, at x and its gradient or differences; and such steps, of chains that
// may have a β each. On the CPU the scratch of `paths` holds the kept weights; y equals x before and
// after. rule: of gradients.
struct LatticePaths {
  // buffers.length: [most_steps, B], of the latest call's steps
  LocalTable what;
  PathRule rule;
  Balancing balancing;
  PathBuffers buffers = {};
  // float64 [B]: of the kept weights, NaN: of none; CPU, where chains have one
  Tensor kept_beta = {};

  static LatticePaths create(LocalTable what, PathRule rule, Balancing balancing, const Tensor& x,
                             const Tensor& table, const Tensor& beta, int64_t max_length,
                             int64_t most_steps);
  // Whether the device has room for a chain: a GPU in a block's shared memory.
  static bool fit(const LatticeTensors& lattice, LocalTable what, const Tensor& x,
                  const Tensor& table);
};
// radius float64 [1] or [B, 1]; beta float64 [B], undefined: 1; table and energy: of U.
void lattice_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& radius, const Tensor& beta, Tensor& x,
                       Tensor& y, Tensor& table, Tensor& energy, LatticePaths& paths,
                       StepBuffers& counts);

}  // namespace isinglass::ops
