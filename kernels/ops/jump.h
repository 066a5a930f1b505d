// Tensors of jump.h: proposals that move every site at once.
#pragma once

#include "io/torch.h"
#include "kernels/jump/jump.h"

namespace isinglass::ops {

using torch::Tensor;

// jump.h. gradient [B, D] (binary, ordered) or [B, D, K] (one-hot); scale float64 [1]; log_q
// float64 [B].
void draw_jump(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& scale, int64_t categories, JumpRule rule, Balancing balancing,
               Tensor& y, Tensor& log_q);
void score_jump(const Tensor& from, const Tensor& gradient, const Tensor& to, const Tensor& scale,
                int64_t categories, JumpRule rule, Balancing balancing, Tensor& log_q);

}  // namespace isinglass::ops
