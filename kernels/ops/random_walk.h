// Runs random-walk proposals (kernels/random_walk/random_walk.h) on tensors.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// Proposes y. x, y uint8 [B, D]; radius float64 [1] or [B, 1]; rng int64 [2]; chain_ids int64 [B].
void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, bool random_count, Tensor& y);

}  // namespace isinglass::ops
