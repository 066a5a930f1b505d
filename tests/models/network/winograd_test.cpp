// Convolutions by Winograd's algorithm give what direct sums give: outputs, and the gradient in the
// input; and a state's numbers do not depend on the other states of its batch.
#include "models/network/winograd.h"

#include <gtest/gtest.h>

#include "kernels/network/winograd.h"
#include "models/network/resnet.h"

namespace isinglass::winograd_test {
namespace {

torch::nn::Conv2d layer(int64_t from, int64_t to, int64_t kernel = 3, int64_t stride = 1) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2));
}

torch::Tensor map_of(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  return torch::randn({batch, channels, height, width}).contiguous(at::MemoryFormat::ChannelsLast);
}

// Returns the largest error in units of float32's rounding of the sum of the products' sizes, by
// which the error of direct sums is bounded. The transforms' constants are up to 97/36.
double largest_error(const torch::Tensor& mine, const torch::Tensor& exact,
                     const torch::Tensor& sizes) {
  constexpr double kUnit = 5.96e-8;
  return ((mine.to(torch::kFloat64) - exact).abs() / (kUnit * sizes)).max().item<double>();
}

TEST(Winograd, GivesTheOutputsAndTheGradientOfDirectSums) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (const auto& [from, to] : {std::pair{16, 16}, {32, 32}, {64, 64}, {16, 48}, {48, 16}}) {
    for (const auto& [height, width] :
         {std::pair{7, 7}, {14, 14}, {1, 1}, {4, 4}, {3, 10}, {9, 5}, {8, 1}}) {
      for (const int64_t batch : {1, 5}) {
        SCOPED_TRACE(testing::Message() << from << " to " << to << " channels, " << batch << " of "
                                        << height << "x" << width);
        const torch::nn::Conv2d conv = layer(from, to);
        const torch::Tensor x = map_of(batch, from, height, width);
        ASSERT_TRUE(WinogradLayer::serves(conv, x));
        WinogradLayer winograd;
        const torch::Tensor w = conv->weight.to(torch::kFloat64), wide = x.to(torch::kFloat64);
        const torch::Tensor bias = conv->bias.to(torch::kFloat64);
        const torch::Tensor out = winograd.forward(conv, x);
        EXPECT_TRUE(out.is_contiguous(at::MemoryFormat::ChannelsLast));
        EXPECT_LT(largest_error(out, at::conv2d(wide, w, bias, 1, 1),
                                at::conv2d(wide.abs(), w.abs(), bias.abs(), 1, 1)),
                  16);
        const torch::Tensor at_out = map_of(batch, to, height, width);
        const torch::Tensor wide_out = at_out.to(torch::kFloat64);
        EXPECT_LT(largest_error(winograd.input_gradient(conv, at_out),
                                at::conv_transpose2d(wide_out, w, {}, 1, 1),
                                at::conv_transpose2d(wide_out.abs(), w.abs(), {}, 1, 1)),
                  16);
      }
    }
  }
}

TEST(Winograd, IsTheSameInEveryBatch) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(2);
  const torch::nn::Conv2d conv = layer(64, 64);
  const torch::Tensor x = map_of(37, 64, 7, 7);
  WinogradLayer winograd;
  const torch::Tensor all = winograd.forward(conv, x), back = winograd.input_gradient(conv, x);
  for (const auto& [first, count] : {std::pair{0, 1}, {1, 5}, {6, 31}, {36, 1}}) {
    const torch::Tensor some = x.narrow(0, first, count);
    EXPECT_TRUE(torch::equal(winograd.forward(conv, some), all.narrow(0, first, count)));
    EXPECT_TRUE(torch::equal(winograd.input_gradient(conv, some), back.narrow(0, first, count)));
  }
}

// The weights are transformed again after they have changed.
TEST(Winograd, FollowsTheWeights) {
  const torch::NoGradGuard no_grad;
  const torch::nn::Conv2d conv = layer(16, 16);
  const torch::Tensor x = map_of(2, 16, 7, 7);
  WinogradLayer winograd;
  const torch::Tensor before = winograd.forward(conv, x);
  const torch::Tensor back = winograd.input_gradient(conv, x);
  conv->weight.mul_(2);
  conv->bias.mul_(2);
  EXPECT_TRUE(torch::equal(winograd.forward(conv, x), 2 * before));
  EXPECT_TRUE(torch::equal(winograd.input_gradient(conv, x), 2 * back));
}

TEST(Winograd, ServesConvolutionsOfStrideOneWithoutGradient) {
  const torch::Tensor x = map_of(2, 16, 7, 7);
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16), x));
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(WinogradLayer::serves(layer(16, 16), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16, 3, 2), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16, 1), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 24), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16), x.to(torch::kBFloat16)));
}

// The energies of a ResNet without autograd are within 1e-4 nats of those with it, which are sums
// in float32, too.
TEST(Winograd, EnergiesOfANetworkAreThoseOfItsLayers) {
  torch::manual_seed(3);
  for (const int64_t channels : {16, 64}) {
    ResNetModel net({28, 28, channels}, 0.2 + 0.6 * torch::rand({784}));
    {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& p : net.parameters()) p.mul_(1.7);  // energies of some hundred nats
    }
    const torch::Tensor x = torch::randint(2, {20, 784}, torch::kUInt8);
    const torch::Tensor direct = net.energy(x).detach().to(torch::kFloat64);
    Evaluation out;
    net.evaluate(x, out);
    EXPECT_LT((out.energy - direct).abs().max().item<double>(), 1e-4);
    const torch::NoGradGuard no_grad;
    EXPECT_LT((net.energy(x).to(torch::kFloat64) - direct).abs().max().item<double>(), 1e-4);
  }
}

}  // namespace
}  // namespace isinglass::winograd_test
