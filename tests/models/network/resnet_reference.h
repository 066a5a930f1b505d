// A ResNet by its definition (models/network/resnet.h), in float64, as the reference of its tests.
#pragma once

#include <map>
#include <string>

#include "models/network/resnet.h"

namespace isinglass {

// Holds the float64 parameters of a network by their names, with gradients.
using ExactParameters = std::map<std::string, torch::Tensor>;

inline ExactParameters exact_parameters(const ResNetModel& model) {
  ExactParameters all;
  for (const auto& item : model.named_parameters()) {
    all[item.key()] = item.value().detach().to(torch::kFloat64).requires_grad_();
  }
  return all;
}

// Returns net [B] of images [B, P, H, W], differentiable in the image and in the parameters.
inline torch::Tensor exact_net(const ResNetModel::Shape& shape, const ExactParameters& all,
                               const torch::Tensor& image) {
  const auto convolve = [&](const std::string& name, const torch::Tensor& x, int64_t stride) {
    const torch::Tensor& w = all.at(name + ".weight");
    return at::conv2d(x, w, all.at(name + ".bias"), stride, w.size(2) / 2);
  };
  torch::Tensor map = convolve(shape.categories > 0 ? "proj2" : "proj", image, 1);
  for (int b = 0; b < 8; ++b) {
    const std::string block = "net." + std::to_string(b) + ".";
    const int64_t stride = b < 2 ? 2 : 1;
    const torch::Tensor other = b < 2 ? convolve(block + "shortcut_conv", map, 2) : map;
    const torch::Tensor h = torch::silu(convolve(block + "conv1", map, stride));
    map = torch::silu(convolve(block + "conv2", h, 1) + other);
  }
  const torch::Tensor features = shape.linear_head ? map.flatten(1) : map.mean({2, 3});
  return features.matmul(all.at("energy_linear.weight").squeeze(0)) + all.at("energy_linear.bias");
}

}  // namespace isinglass
