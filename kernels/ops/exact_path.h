// Runs paths with exact differences (kernels/path/exact_path.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/path/exact_path.h"

namespace isinglass::ops {

using torch::Tensor;

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

}  // namespace isinglass::ops
