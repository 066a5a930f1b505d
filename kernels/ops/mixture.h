// Mixes energies [B], and gradients or differences [B, …], of a tempered path
// (kernels/tempering/mixture.h).
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// Writes out = start + β (target − start), or β·target if start is undefined. target and out are
// float32 or float64 [B, …]; start is the same, or one row of it. beta is float64 with one number
// for all rows, or with n numbers, each for rows / n successive rows.
void mix(const Tensor& start, const Tensor& target, const Tensor& beta, Tensor& out);

}  // namespace isinglass::ops
