// Runs proposals along a path of one-site moves (kernels/path/) on tensors: to first order from a
// gradient, with exact differences, as whole steps on a lattice, and of one site from a table.
#pragma once

#include "io/torch.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"
#include "kernels/path/exact_path.h"
#include "kernels/path/first_order_path.h"
#include "kernels/path/tabulated_site.h"

namespace isinglass::ops {

using torch::Tensor;

// Holds the path buffers of B chains, as in first_order_path.h.
struct PathBuffers {
  Tensor length;   // int32 [B]
  Tensor site;     // int32 [B, max]
  Tensor from;     // uint8 [B, max]
  Tensor to;       // uint8 [B, max]
  Tensor scratch;  // float64 [B, sums_scratch(D)]

  static PathBuffers create(int64_t chains, int64_t sites, int64_t max_length,
                            torch::Device device);
};

// Draw and score paths as in first_order_path.h. gradient is [B, D], or [B, D, K] if one-hot;
// radius float64 [1] or [B, 1]; log_q float64 [B].
void draw_path(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& radius, int64_t categories, PathRule rule, Balancing balancing,
               Tensor& y, PathBuffers& paths, Tensor& log_q);
void score_path(Tensor& y, const Tensor& gradient, int64_t categories, PathRule rule,
                Balancing balancing, PathBuffers& paths, Tensor& log_q);

// Checks the tensors and returns the shape. The buffers must have room for the lengths of `steps`
// steps and for `scratch` numbers per chain.
PathShape path_shape(const Tensor& x, const Tensor& gradient, int64_t categories, PathRule rule,
                     Balancing balancing, const PathBuffers& paths, int64_t scratch, int64_t steps);
Paths path_pointers(const PathBuffers& paths);

// Holds the path buffers of B chains, as in exact_path.h.
struct ExactPathBuffers {
  Tensor length;      // int32 [B]
  Tensor entry;       // int32 [B]
  Tensor from;        // uint8 [B]
  Tensor block_sums;  // float64 [B, block_sums_size(entries)]

  // Creates buffers for differences of the shape that advance_exact_path() takes.
  static ExactPathBuffers create(const Tensor& differences);
};

// Advances the paths as in exact_path.h. differences are float32 [B, D] or [B, D, K] with y uint8
// [B, D], or [B, D(D−1)/2] with y int64 [B, D]; radius float64 [1] or [B, 1]; log_forward,
// log_backward float64 [B].
void advance_exact_path(const Tensor& differences, const Tensor& rng, const Tensor& chain_ids,
                        const Tensor& radius, int64_t position, int64_t max_length,
                        Balancing balancing, Tensor& y, ExactPathBuffers& paths,
                        Tensor& log_forward, Tensor& log_backward);

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
  // Hold the kept fields, float64 [B, D], and their states, uint8 [B, D]. They are defined if
  // keeps_fields() of the lattice.
  Tensor field = {}, field_state = {};

  static LatticePaths create(const LatticeTensors& lattice, LocalTable what, PathRule rule,
                             Balancing balancing, const Tensor& x, const Tensor& table,
                             const Tensor& beta, int64_t max_length, int64_t most_steps);
  // Returns true if paths keep the flip energies of the sites of this lattice, on a CPU.
  static bool keeps_fields(const LatticeTensors& lattice, bool one_hot);
  // Returns true if the device has room for a chain; on a GPU, in a block's shared memory.
  // one_hot: the table holds a number for every value of a site.
  static bool fit(const LatticeTensors& lattice, LocalTable what, bool one_hot,
                  torch::Device device);
};
// Performs `steps` steps. radius float64 [1] or [B, 1]; beta float64 [B], or undefined for 1; table
// and energy are those of U.
void lattice_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& radius, const Tensor& beta, Tensor& x,
                       Tensor& y, Tensor& table, Tensor& energy, LatticePaths& paths,
                       StepBuffers& counts);

// Holds the drawn sites of B chains, as in tabulated_site.h.
struct SiteBuffers {
  Tensor site;        // int64 [B]
  Tensor block_sums;  // float64 [B, block_sums_size(D)]

  static SiteBuffers create(int64_t chains, int64_t sites, torch::Device device);
};

// Draw and score proposals as in tabulated_site.h. table is float64 [B, D], contiguous and without
// gradient; log_q float64 [B].
void draw_tabulated_site(const Tensor& table, const Tensor& x, const Tensor& rng,
                         const Tensor& chain_ids, int64_t position, Tensor& y, SiteBuffers& drawn,
                         Tensor& log_q);
void score_tabulated_site(const Tensor& table, const Tensor& x, SiteBuffers& drawn, Tensor& log_q);

// Writes log g at t = e^d for the four functions of balancing.h: d float64 [B, D], out float64 [4,
// B, D].
void log_balances(const Tensor& d, Tensor& out);

}  // namespace isinglass::ops
