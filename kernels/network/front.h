// Computes a convolution of stride 2 with few input channels and many outputs, whose weights differ
// at the upper and left border (CPU). The front of a ResNet is two of them
// (models/network/front.h).
//
//   out[r, c, o] = b[k, o] + Σ_{p, q, i} w[k, p, q, i, o] · image[2r + p − h, 2c + q − h, i]
//
// with h half the kernel's width, rounded down, and zeros around the image. The class k of the
// position (r, c) is 2·[r = 0] + [c = 0], or 0 if there is a single class. All sums are float32,
// and those of a chain do not depend on the other chains.
#pragma once

#include <cstdint>

#include "kernels/network/swish.h"

namespace isinglass {

struct FrontShape {
  int64_t chains = 0, height = 0, width = 0;  // height and width are even
  int64_t inputs = 0, outputs = 0;            // numbers of channels; outputs is a multiple of 16
  int64_t kernel = 0, classes = 0;            // an odd width; 1 or 4

  int64_t taps() const { return kernel * kernel * inputs; }
  // Returns the length of a row of taps in the weights of the backward pass: the next multiple
  // of 32.
  int64_t padded_taps() const { return (taps() + 31) / 32 * 32; }
};

namespace cpu {

// Writes out [chains, height/2, width/2, outputs]. image: [chains, height, width, inputs]; weights:
// [classes, kernel, kernel, inputs, outputs]; bias: [classes, outputs].
void front(const FrontShape& shape, const float* image, const float* weights, const float* bias,
           float* out);

// Adds the gradient in the image to at_image, given that in the output. weights: [classes, outputs,
// padded_taps], zero beyond the taps.
void front_backward(const FrontShape& shape, const float* at_out, const float* weights,
                    float* at_image);
void front_backward(const FrontShape& shape, const Bfloat16* at_out, const float* weights,
                    float* at_image);

}  // namespace cpu
}  // namespace isinglass
