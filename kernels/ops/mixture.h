// Tensors of mixture.h: energies [B], gradients or differences [B, …] of a tempered path.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// out = start + β (target − start), β·target where start is undefined. target and out float32 or
// float64 [B, …], start the same or one row of it, beta float64 of one number, or one for as many
// rows behind one another.
void mix(const Tensor& start, const Tensor& target, const Tensor& beta, Tensor& out);

}  // namespace isinglass::ops
