// Gradients of a ResNet's energy in its parameters, against float64. Numbers of channels below a
// vector's, and few images, have found faults of oneDNN (models/network/resnet.cpp).
#include <gtest/gtest.h>

#include "tests/models/network/resnet_reference.h"

namespace isinglass::resnet_gradients_test {
namespace {

TEST(ResNetGradients, InTheParameters) {
  for (const int64_t channels : {3, 4, 8, 12, 16, 24, 32}) {
    for (const auto& [height, width] : {std::pair{28, 28}, {7, 9}}) {
      const ResNetModel::Shape shape{height, width, channels};
      torch::manual_seed(channels);
      ResNetModel model(shape, torch::Tensor());
      const ExactParameters exact = exact_parameters(model);
      for (const int64_t batch : {1, 3, 40}) {
        const torch::Tensor x = torch::randint(0, 2, {batch, height * width}, torch::kUInt8);
        model.zero_grad();
        model.energy(x).sum().backward();
        const torch::Tensor image = x.to(torch::kFloat64).view({batch, 1, height, width});
        for (const auto& [name, parameter] : exact) parameter.mutable_grad() = torch::Tensor();
        exact_net(shape, exact, image).sum().neg().backward();  // U = −net
        for (const auto& item : model.named_parameters()) {
          const torch::Tensor expected = exact.at(item.key()).grad();
          const torch::Tensor error = item.value().grad().to(torch::kFloat64) - expected;
          // Sums over images and positions in float32, of a network of 17 layers.
          EXPECT_LT(error.abs().max().item<double>(), 1e-4 * expected.abs().max().item<double>())
              << item.key() << ", " << channels << " channels, " << height << "x" << width << ", "
              << batch << " images";
        }
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::resnet_gradients_test
