// Runs any-scale proposals (kernels/any_scale/any_scale.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/any_scale/any_scale.h"

namespace isinglass::ops {

using torch::Tensor;

// Holds what a proposal from a state reads. Tensors that a proposal does not have are undefined
// (any_scale.h).
struct OrderedInputs {
  Tensor gradient;      // float32 [B, D]
  Tensor noise, field;  // float64 [B, D]
  Tensor diagonal;      // float64 [D]
  Tensor scale;         // float64 [2] or [B, 2]: σ and α
};

// Draw and score proposals as in any_scale.h. log_q is float64 [B]; move is float64 [B, D] or
// undefined.
void draw_ordered(const Tensor& x, const OrderedInputs& inputs, int64_t categories,
                  const Tensor& rng, const Tensor& chain_ids, Tensor& y, Tensor& move,
                  Tensor& log_q);
void score_ordered(const Tensor& from, const Tensor& to, const OrderedInputs& inputs,
                   int64_t categories, Tensor& log_q);

}  // namespace isinglass::ops
