// The thin layer over the kernel twins: checks tensors, picks the device's twin and its current
// stream. The same functions are the torch operators `isinglass::…` (ops.cpp), so that Python can
// call them:
//   torch.ops.load_library("build/libisinglass_ops.so"); torch.ops.isinglass.draw_path(…)
//
// Everything is written into tensors given by the caller; all tensors of a call are contiguous and
// live on one device. rng is int64 [2] {seed, step}; chain_ids int64 [B]; states uint8 [B, D].
#pragma once

#include <torch/torch.h>

#include <vector>

#include "kernels/balancing.h"
#include "kernels/path.h"
#include "kernels/philox.h"

namespace isinglass::ops {

using torch::Tensor;

// Buffers of the paths of B chains: see path.h.
struct PathBuffers {
  Tensor length;      // int32 [B]
  Tensor site;        // int32 [B, max]
  Tensor from;        // uint8 [B, max]
  Tensor to;          // uint8 [B, max]
  Tensor block_sums;  // float64 [B, 3·⌈D/32⌉]

  static PathBuffers create(int64_t chains, int64_t sites, int64_t max_length,
                            torch::Device device);
};

// path.h. gradient [B, D] (binary) or [B, D, K] (one-hot); radius float64 []; log_q float64 [B].
void draw_path(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& radius, PathRule rule, Balancing balancing, Tensor& y,
               PathBuffers& paths, Tensor& log_q);
void score_path(Tensor& y, const Tensor& gradient, PathRule rule, Balancing balancing,
                PathBuffers& paths, Tensor& log_q);

// uniform_flips.h
void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, Tensor& y);

// gibbs.h; choice int64 [B]
struct StepBuffers {
  Tensor acceptance, hops;          // float64 [B], int64 [B]: of this step
  Tensor acceptance_sum, hops_sum;  // float64 [B], int64 [B]
  Tensor non_finite;                // int64 [B]
};
void choose_sites(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                  Tensor& site);
void one_site_neighbours(const Tensor& x, const Tensor& site, int64_t categories,
                         Tensor& neighbours);
void neighbour_differences(const Tensor& x, const Tensor& site, const Tensor& energy,
                           const Tensor& neighbour_energy, Tensor& difference);
void draw_conditionals(const Tensor& difference, const Tensor& site, const Tensor& rng,
                       const Tensor& chain_ids, Tensor& x, Tensor& energy, Tensor& choice,
                       StepBuffers& counts);

// metropolis.h. current[i] takes over the accepted rows of proposed[i]; current[0] is x and
// proposed[0] is y. log_forward and log_backward are undefined for symmetric proposals.
void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts);
void advance(Tensor& rng);

// random.h. p float32 [D] or [N, D]; ids int64 [N]; out uint8 [N, D].
void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out);
void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out);

// lattice.h
struct LatticeTensors {
  Tensor unary;      // float64 [D, K]
  Tensor offset;     // int64 [D + 1]
  Tensor neighbour;  // int32 [2E]
  Tensor coupling;   // float64 [2E]
  double constant = 0;
};
// gradient float32 [B, D] or [B, D, K], undefined if not wanted; energy float64 [B].
void lattice_evaluate(const LatticeTensors& lattice, const Tensor& x, bool one_hot, Tensor& energy,
                      const Tensor& gradient);
// difference float64 [B, K] = U(x with x_site ← k) − U(x); site int64 [B].
void lattice_differences(const LatticeTensors& lattice, const Tensor& x, const Tensor& site,
                         Tensor& difference);

}  // namespace isinglass::ops
