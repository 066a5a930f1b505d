// Computes swish and its backward product (kernels/network/swish.h) on tensors of one shape and
// layout. Slopes and backward gradients are float32 or bfloat16; all other tensors are float32.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// Writes y = swish(a + b) and its derivative, slope. b may be undefined; y may be a.
void swish(const Tensor& a, const Tensor& b, Tensor& y, Tensor& slope);

// Writes out = (g + h)·slope. h may be undefined; out may be any of the inputs.
void swish_backward(const Tensor& g, const Tensor& h, const Tensor& slope, Tensor& out);

}  // namespace isinglass::ops
