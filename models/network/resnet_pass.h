// Computes a ResNet, and its gradient in the image, by a single kernel on a GPU
// (kernels/network/resnet_pass.h), from weights that are packed once for every change of the
// parameters. Energies and gradients are float32, and those of a chain do not depend on the other
// chains. The front is composed (front.h).
#pragma once

#include <vector>

#include "kernels/ops/resnet_pass.h"
#include "models/cached.h"

namespace isinglass {

class ResNetPass {
 public:
  // Returns the parameters of a network in the kernel's order, float32. `network` has the state
  // dict that models/network/resnet.h describes. If `into` is defined, they are written there.
  static torch::Tensor packed(const ResNetShape& shape, const torch::nn::Module& network,
                              const torch::Tensor& into);

  // Packs the weights if they have changed; they stay at the same addresses. `parameters` are all
  // parameters of the network.
  void update(const ResNetShape& shape, const torch::nn::Module& network,
              const std::vector<torch::Tensor>& parameters);

  // Returns net [B], float64, for images [B, P, H, W], by the weights of the last update(), and
  // writes its gradient in the image, [B, P, H, W], unless at_image is null.
  torch::Tensor operator()(const ResNetShape& shape, const torch::Tensor& image,
                           torch::Tensor* at_image);

 private:
  Cached<torch::Tensor> weights_;
  ops::Scratch scratch_;
};

}  // namespace isinglass
