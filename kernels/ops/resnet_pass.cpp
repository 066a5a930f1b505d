// Implements the tensor layer of the ResNet kernel: it checks tensors and runs the kernel.
#include "kernels/ops/resnet_pass.h"

#include "kernels/ops/check.h"

namespace isinglass::ops {

int64_t resnet_pass_together(const ResNetShape& shape, torch::Device device) {
  if (!device.is_cuda()) return 0;
  const c10::DeviceGuard guard(device);
  return cuda::resnet_pass_together(shape);
}

Tensor resnet_pass(const ResNetShape& shape, const Tensor& weights, const Tensor& image,
                   Scratch& scratch, const Tensor& at_image) {
  const int64_t chains = image.size(0);
  check(image, image, torch::kFloat32, chains * shape.pixels(), "image");
  check(weights, image, torch::kFloat32, ResNetWeights::count(shape), "weights");
  if (at_image.defined()) check(at_image, image, torch::kFloat32, image.numel(), "at_image");
  float* slopes = nullptr;
  if (image.is_cuda() && at_image.defined()) {
    const c10::DeviceGuard guard(image.device());
    slopes = scratch.numbers<float>(image, cuda::resnet_pass_scratch(shape, chains));
  }
  const Tensor net = torch::empty({chains}, image.options().dtype(torch::kFloat64));
  run_twin(
      image, [](const auto&... a) { cpu::resnet_pass(a...); },
      [](const auto&... a) { cuda::resnet_pass(a...); }, shape, chains, data<float>(weights),
      data<float>(image), slopes, data<double>(net), data<float>(at_image));
  return net;
}

}  // namespace isinglass::ops
