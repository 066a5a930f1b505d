// Runs whole steps of path samplers on a lattice (kernels/path/fast/lattice_path.h) on tensors.
#pragma once

#include "kernels/ops/first_order_path.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// Holds the options of steps on a lattice and what they keep, at x and its gradient or differences.
// Each chain may have its own β. On the CPU the scratch memory of `buffers` holds the kept weights,
// and y equals x before and after a step. `rule` applies to gradients.
struct LatticePaths {
  // buffers.length is [most_steps, B] and holds the lengths of the last call's steps.
  LocalTable what;
  PathRule rule;
  Balancing balancing;
  PathBuffers buffers = {};
  // float64 [B]. Holds the β of each chain's kept weights, or NaN if there are none. It is
  // defined on a CPU only, and only if chains have their own β.
  Tensor kept_beta = {};

  static LatticePaths create(LocalTable what, PathRule rule, Balancing balancing, const Tensor& x,
                             const Tensor& table, const Tensor& beta, int64_t max_length,
                             int64_t most_steps);
  // Returns true if the device has room for a chain; on a GPU, in a block's shared memory.
  static bool fit(const LatticeTensors& lattice, LocalTable what, const Tensor& x,
                  const Tensor& table);
};
// Performs `steps` steps. radius float64 [1] or [B, 1]; beta float64 [B], or undefined for 1; table
// and energy are those of U.
void lattice_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& radius, const Tensor& beta, Tensor& x,
                       Tensor& y, Tensor& table, Tensor& energy, LatticePaths& paths,
                       StepBuffers& counts);

}  // namespace isinglass::ops
