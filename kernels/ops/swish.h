// Tensors of swish.h, all of one shape and layout. Slopes, and with them what goes backwards, are
// float32 or bfloat16; all else is float32.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

// y = swish(a + b), slope its derivative; b may be undefined, y may be a.
void swish(const Tensor& a, const Tensor& b, Tensor& y, Tensor& slope);

// out = (g + h)·slope; h may be undefined, out may be any of the others.
void swish_backward(const Tensor& g, const Tensor& h, const Tensor& slope, Tensor& out);

}  // namespace isinglass::ops
