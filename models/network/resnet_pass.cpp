// Packs the weights, and runs the kernel.
#include "models/network/resnet_pass.h"

#include <fmt/format.h>

#include "models/network/front.h"

namespace isinglass {

torch::Tensor ResNetPass::packed(const ResNetShape& shape, const torch::nn::Module& network,
                                 const torch::Tensor& into) {
  const torch::NoGradGuard no_grad;
  const auto all = network.named_parameters();
  const auto layer = [&all](const std::string& name) {
    return ConvolutionWeights(all[name + ".weight"], all[name + ".bias"]);
  };
  const ComposedFront front(layer(all.contains("proj2.weight") ? "proj2" : "proj"),
                            layer("net.0.conv1"), layer("net.0.shortcut_conv"));
  const auto [strided, strided_bias] = layer("net.1.shortcut_conv");
  const auto [head, head_bias] = layer("energy_linear");
  std::vector<torch::Tensor> weights, biases;
  for (int n = 0; n < ResNetShape::kConvolutions; ++n) {
    const auto [weight, bias] = layer(fmt::format("net.{}.conv{}", (n + 1) / 2, 2 - n % 2));
    weights.push_back(weight);
    biases.push_back(bias);
  }
  const torch::Tensor convolutions = torch::stack(weights);  // [15, C out, C in, 3, 3]
  std::vector<torch::Tensor> parts = front.weights_and_biases();
  for (const torch::Tensor& part :
       {strided.flatten(1).t(), strided.flatten(1), strided_bias, torch::stack(biases),
        convolutions.permute({0, 2, 3, 4, 1}),                  // input, tap, output
        convolutions.flip({0, 3, 4}).permute({0, 1, 3, 4, 2}),  // output, reversed tap, input
        head, head_bias}) {
    parts.push_back(part);
  }
  for (torch::Tensor& part : parts) part = part.reshape(-1);
  torch::Tensor out = into;
  if (!out.defined()) out = torch::empty({ResNetWeights::count(shape)}, head.options());
  return at::cat_out(out, parts);
}

void ResNetPass::update(const ResNetShape& shape, const torch::nn::Module& network,
                        const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard no_grad;
  weights_.get(parameters, [&] {
    const torch::Tensor* last = weights_.last();
    const bool reusable = last && last->device() == parameters[0].device();
    return packed(shape, network, reusable ? *last : torch::Tensor());
  });
}

torch::Tensor ResNetPass::operator()(const ResNetShape& shape, const torch::Tensor& image,
                                     torch::Tensor* at_image) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor rows = image.permute({0, 2, 3, 1}).contiguous();
  const torch::Tensor at_rows = at_image ? torch::empty_like(rows) : torch::Tensor();
  const torch::Tensor net = ops::resnet_pass(shape, *weights_.last(), rows, scratch_, at_rows);
  if (at_image) *at_image = at_rows.permute({0, 3, 1, 2});
  return net;
}

}  // namespace isinglass
