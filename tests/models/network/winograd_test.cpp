// Convolutions by Winograd's algorithm give what direct sums give, outputs and gradients, also
// within a network; and a state's numbers do not depend on the other states of its batch.
#include "models/network/winograd.h"

#include <gtest/gtest.h>
#include <omp.h>

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

TEST(Winograd, GivesTheGradientInTheWeightsOfDirectSums) {
  torch::manual_seed(6);
  for (const auto& [from, to] : {std::pair{16, 16}, {32, 32}, {64, 64}, {16, 48}, {48, 16}}) {
    for (const auto& [height, width] :
         {std::pair{7, 7}, {14, 14}, {1, 1}, {4, 4}, {3, 10}, {9, 5}, {8, 1}}) {
      for (const int64_t batch : {1, 37}) {
        SCOPED_TRACE(testing::Message() << from << " to " << to << " channels, " << batch << " of "
                                        << height << "x" << width);
        const torch::Tensor x = map_of(batch, from, height, width);
        const torch::Tensor at_out = map_of(batch, to, height, width);
        const WinogradShape shape{batch, height, width, from, to};
        torch::Tensor mine = torch::full({to, from, 3, 3}, NAN);
        cpu::winograd_weight_gradient(shape, x.const_data_ptr<float>(),
                                      at_out.const_data_ptr<float>(),
                                      mine.mutable_data_ptr<float>());
        const auto direct = [&](const torch::Tensor& a, const torch::Tensor& b) {
          const auto gradients = at::convolution_backward(
              b, a, torch::zeros({to, from, 3, 3}, torch::kFloat64), {}, {1, 1}, {1, 1}, {1, 1},
              false, {0, 0}, 1, {false, true, false});
          return std::get<1>(gradients);
        };
        const torch::Tensor wide = x.to(torch::kFloat64), wide_out = at_out.to(torch::kFloat64);
        // All nine numbers of a pair of channels come from the same sums, so that they have the
        // error of the largest, also where a border leaves nothing to sum. The transforms magnify
        // a single product by up to 5.6² = 31.
        const torch::Tensor sizes = direct(wide.abs(), wide_out.abs()).amax({2, 3}, true);
        EXPECT_LT(largest_error(mine, direct(wide, wide_out), sizes), 32);
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

// The loops try all threads and the caller's alone in their first runs.
TEST(Winograd, IsTheSameOnAnyNumberOfThreads) {
  torch::manual_seed(5);
  torch::nn::Conv2d conv = layer(64, 64);
  const torch::Tensor x = map_of(50, 64, 7, 7).requires_grad_();
  WinogradLayer winograd;
  const auto numbers = [&] {
    const torch::Tensor out = winograd.forward(conv, x);
    std::vector<torch::Tensor> all = torch::autograd::grad({out.square().sum()}, {x, conv->weight});
    all.push_back(out);
    return all;
  };
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<torch::Tensor> alone = numbers();
  omp_set_num_threads(3);
  for (int run = 0; run < 10; ++run) {
    const std::vector<torch::Tensor> together = numbers();
    for (size_t n = 0; n < alone.size(); ++n) EXPECT_TRUE(together[n].equal(alone[n])) << n;
  }
  omp_set_num_threads(threads);
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

TEST(Winograd, ServesConvolutionsOfStrideOne) {
  const torch::Tensor x = map_of(2, 16, 7, 7);
  EXPECT_TRUE(WinogradLayer::serves(layer(16, 16), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16, 3, 2), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16, 1), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 24), x));
  EXPECT_FALSE(WinogradLayer::serves(layer(16, 16), x.to(torch::kBFloat16)));
}

// Returns the gradients in x and in the parameters, and the gradients of a function of the first,
// which takes a backward pass that is differentiable.
template <class Apply>
std::vector<torch::Tensor> gradients(const torch::nn::Conv2d& conv, const torch::Tensor& at,
                                     Apply apply) {
  const torch::Tensor x = at.detach().clone().requires_grad_();
  const std::vector<torch::Tensor> of = {x, conv->weight, conv->bias};
  std::vector<torch::Tensor> all = torch::autograd::grad({apply(x).pow(3).sum()}, of);
  const torch::Tensor first =
      torch::autograd::grad({apply(x).pow(3).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  for (const torch::Tensor& more : torch::autograd::grad({first.square().sum()}, of)) {
    all.push_back(more);
  }
  return all;
}

TEST(Winograd, HasTheGradientsOfDirectSums) {
  torch::manual_seed(4);
  const torch::nn::Conv2d conv = layer(16, 32);
  const torch::Tensor x = map_of(3, 16, 7, 9);
  WinogradLayer winograd;
  const auto mine = gradients(conv, x, [&](const auto& at) { return winograd.forward(conv, at); });
  const auto direct = gradients(
      conv, x, [&](const auto& at) { return at::conv2d(at, conv->weight, conv->bias, 1, 1); });
  ASSERT_EQ(mine.size(), 6);
  for (size_t n = 0; n < mine.size(); ++n) {
    const double size = direct[n].abs().max().item<double>();
    EXPECT_LT((mine[n] - direct[n]).abs().max().item<double>(), 1e-5 * size) << n;
  }
  // Frozen weights get no gradient, as in any layer.
  conv->weight.set_requires_grad(false);
  winograd.forward(conv, x).sum().backward();
  EXPECT_FALSE(conv->weight.grad().defined());
  EXPECT_TRUE(conv->bias.grad().defined());
  conv->bias.set_requires_grad(false);
  const torch::Tensor alone = x.detach().clone().requires_grad_();
  winograd.forward(conv, alone).sum().backward();
  EXPECT_EQ(alone.grad().sizes(), x.sizes());
}

// Returns U of binary images in float64, layer by layer, from the tensors of a ResNet.
torch::Tensor exact_energy(const ResNetModel& net, const torch::Tensor& x) {
  const auto tensor = [&, all = net.named_parameters()](const std::string& name) {
    return all[name].detach().to(torch::kFloat64);
  };
  const auto conv = [&](const std::string& name, const torch::Tensor& map, int64_t stride) {
    const torch::Tensor w = tensor(name + ".weight");
    return at::conv2d(map, w, tensor(name + ".bias"), stride, w.size(2) / 2);
  };
  torch::Tensor map = conv("proj", x.view({-1, 1, 28, 28}), 1);
  for (int block = 0; block < 8; ++block) {
    const std::string name = "net." + std::to_string(block);
    const int64_t stride = block < 2 ? 2 : 1;
    const torch::Tensor h = at::silu(conv(name + ".conv1", map, stride));
    const torch::Tensor other = block < 2 ? conv(name + ".shortcut_conv", map, stride) : map;
    map = at::silu(conv(name + ".conv2", h, 1) + other);
  }
  const torch::Tensor net_x =
      map.mean({2, 3}).matmul(tensor("energy_linear.weight").t()) + tensor("energy_linear.bias");
  return -net_x.squeeze(1);
}

// The energies of a ResNet are those of its layers in float64 to 1e-4 nats, with autograd and
// without it, and so are its gradients in the states and in the parameters, to 1e-5.
TEST(Winograd, NetworksAreThoseOfTheirLayers) {
  torch::manual_seed(3);
  for (const int64_t channels : {16, 64}) {
    SCOPED_TRACE(channels);
    ResNetModel net({28, 28, channels}, torch::Tensor());
    {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& p : net.parameters()) {
        if (p.dim() == 4) p.mul_(2.2);
      }
      net.named_parameters()["energy_linear.weight"].mul_(50);  // Energies differ by whole nats.
    }
    const torch::Tensor x = torch::randint(2, {20, 784}, torch::kUInt8);
    const torch::Tensor wide = x.to(torch::kFloat64).requires_grad_();
    const torch::Tensor exact = exact_energy(net, wide);
    const torch::Tensor exact_gradient = torch::autograd::grad({exact.sum()}, {wide})[0];
    const auto error = [](const torch::Tensor& a, const torch::Tensor& b) {
      return (a.detach().to(torch::kFloat64) - b.detach()).abs().max().item<double>();
    };
    Evaluation out;
    net.evaluate(x, out);
    EXPECT_GT(exact.std().item<double>(), 1);
    EXPECT_LT(error(out.energy, exact), 1e-4);
    EXPECT_LT(error(out.gradient, exact_gradient),
              1e-5 * exact_gradient.abs().max().item<double>());
    const torch::Tensor relaxed = x.to(torch::kFloat32).requires_grad_();
    const torch::Tensor energy = net.energy(relaxed);
    EXPECT_LT(error(energy, exact), 1e-4);
    EXPECT_LT(error(torch::autograd::grad({energy.sum()}, {relaxed})[0], exact_gradient),
              1e-5 * exact_gradient.abs().max().item<double>());
    const torch::NoGradGuard no_grad;
    EXPECT_LT(error(net.energy(x), exact), 1e-4);
  }
}

}  // namespace
}  // namespace isinglass::winograd_test
