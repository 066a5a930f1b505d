// A layer's 3×3 convolution of stride 1 on a CPU by Winograd's algorithm
// (kernels/network/winograd.h), with autograd and without it. The transformed weights are cached.
#pragma once

#include <torch/nn/modules/conv.h>

#include "models/cached.h"

namespace isinglass {

class WinogradLayer {
 public:
  // Returns true if the layer is such a convolution of float32 numbers.
  static bool serves(const torch::nn::Conv2d& layer, const torch::Tensor& x);

  // Returns the layer's output [B, C, H, W], channels-last. Its gradients in x and in the weights
  // come from the same algorithm. A backward pass that is itself differentiated (create_graph) is
  // LibTorch's.
  torch::Tensor forward(const torch::nn::Conv2d& layer, const torch::Tensor& x);
  // Returns the gradient in the layer's input, given that in its output, without autograd.
  torch::Tensor input_gradient(const torch::nn::Conv2d& layer, const torch::Tensor& at_output);

 private:
  Cached<torch::Tensor> weights_, transposed_;  // float32 [36, inputs, outputs]
};

}  // namespace isinglass
