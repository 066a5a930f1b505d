// The front of a ResNet. Its first convolution (3×3, weights Wp) is followed, without a
// swish between them, by block 0's convolution (3×3, stride 2, W1) and shortcut (1×1, stride 2,
// Ws). Each pair is linear in the image, and is computed as one convolution of stride 2:
//
//   5×5: W[o; d + e] = Σ_i W1[o, i, d] Wp[i, e],  b[o] = b1[o] + Σ_{i, d} W1[o, i, d] bp[i]
//   3×3: W[o; e] = Σ_i Ws[o, i] Wp[i, e],         b[o] = bs[o] + Σ_i Ws[o, i] bp[i]
//
// The first convolution's output is padded with zeros, so that the sums over d lack d_y = −1 in the
// first row and d_x = −1 in the first column: there are four classes of positions. With an even
// height and width, no other border is met. The composed weights are summed in float64.
//
// With autograd, the composition is differentiable in the layers' parameters. The gradient in its
// 5×5 weights is a sum of patches over the positions of each class, with 25·P products a position
// and output channel, where the gradient in W1 takes 9·C.
#pragma once

#include <torch/nn/modules/conv.h>

#include <utility>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// Holds the parameters of a convolution.
struct ConvolutionWeights {
  torch::Tensor weight, bias;

  ConvolutionWeights(torch::Tensor weight, torch::Tensor bias)
      : weight(std::move(weight)), bias(std::move(bias)) {}
  ConvolutionWeights(const torch::nn::Conv2d& layer)
      : ConvolutionWeights(layer->weight, layer->bias) {}
};

class ComposedFront {
 public:
  // Returns true if the composed form exists for images of that shape [B, P, H, W] and is faster.
  static bool serves(const torch::Tensor& image, const torch::nn::Conv2d& first);

  // Does not keep the layers, only composed copies of their weights, which have a graph if
  // gradients are on.
  ComposedFront(const ConvolutionWeights& first, const ConvolutionWeights& conv,
                const ConvolutionWeights& shortcut);

  // Returns the composed weights [4, 5, 5, P, C], their biases [4, C], and those of the shortcut,
  // [1, 3, 3, P, C] and [1, C].
  std::vector<torch::Tensor> weights_and_biases() const;

  // Returns the outputs [B, C, H/2, W/2] of block 0's convolution and of its shortcut. If gradients
  // are on, they are differentiable in the image and in the layers' parameters.
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& image) const;
  // Returns the gradient in the image [B, P, H, W], given the gradients in both outputs.
  torch::Tensor backward(const torch::Tensor& at_conv, const torch::Tensor& at_shortcut) const;

 private:
  // Holds a composed convolution of stride 2.
  struct Part {
    torch::Tensor weights, bias;  // float32 [classes, C, P, k, k] and [classes, C], with the graph
    torch::Tensor forward_weights, backward_weights;  // as kernels/network/front.h wants them

    Part() = default;
    Part(const torch::Tensor& composed, const torch::Tensor& composed_bias);
    torch::Tensor outputs(const torch::Tensor& image) const;
  };

  Part conv_, shortcut_;
};

}  // namespace isinglass
