// Runs the kernel that computes a whole ResNet (kernels/network/resnet_pass.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/network/resnet_pass.h"
#include "kernels/ops/scratch.h"

namespace isinglass::ops {

using torch::Tensor;

// Returns how many chains a GPU computes at a time, or 0 if the kernel does not serve networks of
// that shape on the device.
int64_t resnet_pass_together(const ResNetShape& shape, torch::Device device);

// Returns net, float64 [B], for packed weights and images float32 [B, H, W, P]. Writes its gradient
// in the image, float32 [B, H, W, P], unless at_image is undefined.
Tensor resnet_pass(const ResNetShape& shape, const Tensor& weights, const Tensor& image,
                   Scratch& scratch, const Tensor& at_image);

}  // namespace isinglass::ops
