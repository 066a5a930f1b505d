// Runs proposals along a path of one-site moves (kernels/path/first_order_path.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/path/first_order_path.h"

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

}  // namespace isinglass::ops
