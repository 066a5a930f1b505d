// The composed front of a ResNet gives what its layers give one after the other: its outputs and
// gradients, in the image and in the layers' parameters, are those of LibTorch's convolutions in
// float64, and networks give the same energies and gradients with autograd and without it.
#include <gtest/gtest.h>

#include "models/energy_model.h"
#include "models/network/front.h"
#include "models/registry.h"

namespace isinglass::resnet_front_test {
namespace {

torch::nn::Conv2d layer(int64_t from, int64_t to, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2));
}

torch::Tensor exactly(const torch::nn::Conv2d& c, const torch::Tensor& x) {
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  return at::conv2d(x, wide(c->weight), wide(c->bias), c->options.stride(),
                    std::get<torch::ExpandingArray<2>>(c->options.padding()));
}

double relative_error(const torch::Tensor& a, const torch::Tensor& exact) {
  EXPECT_EQ(a.sizes(), exact.sizes());
  return ((a.to(torch::kFloat64) - exact).abs().max() / exact.abs().max()).item<double>();
}

TEST(ResNetFront, IsTheTwoConvolutions) {
  torch::manual_seed(3);
  const torch::NoGradGuard no_grad;
  for (const int64_t inputs : {1, 3, 8}) {
    for (const int64_t channels : {16, 32, 48, 64, 128}) {
      const torch::nn::Conv2d first = layer(inputs, channels, 3, 1),
                              conv = layer(channels, channels, 3, 2),
                              shortcut = layer(channels, channels, 1, 2);
      const ComposedFront front(first, conv, shortcut);
      for (const auto& [height, width] : {std::pair{2, 2}, {2, 6}, {4, 4}, {28, 20}}) {
        for (const int64_t batch : {1, 3}) {
          const torch::Tensor image = torch::rand({batch, inputs, height, width});
          const auto [mine_a, mine_b] = front.forward(image);
          const torch::AutoGradMode of_the_reference(true);
          torch::Tensor x = image.to(torch::kFloat64).requires_grad_();
          const torch::Tensor h = exactly(first, x);
          const torch::Tensor a = exactly(conv, h), b = exactly(shortcut, h);
          SCOPED_TRACE(testing::Message() << inputs << " to " << channels << " channels, " << height
                                          << "x" << width << ", batch " << batch);
          // Sums of at most 200 products, each rounded to 6e-8.
          EXPECT_LT(relative_error(mine_a, a.detach()), 2e-6);
          EXPECT_LT(relative_error(mine_b, b.detach()), 2e-6);
          const torch::Tensor at_a = torch::randn_like(mine_a), at_b = torch::randn_like(mine_b);
          ((a * at_a).sum() + (b * at_b).sum()).backward();
          EXPECT_LT(relative_error(front.backward(at_a, at_b), x.grad()), 2e-6);
        }
      }
    }
  }
}

// Returns the gradients of Σ (a³ + b³) in all of `in`, where a and b are the outputs, and those of
// the squared gradient in the first of them, which takes a backward pass that is differentiable.
std::vector<torch::Tensor> gradients(const std::pair<torch::Tensor, torch::Tensor>& outputs,
                                     const std::vector<torch::Tensor>& in) {
  const torch::Tensor sum = outputs.first.pow(3).sum() + outputs.second.pow(3).sum();
  std::vector<torch::Tensor> all = torch::autograd::grad({sum}, in, {}, /*retain_graph=*/true);
  const torch::Tensor at_first = torch::autograd::grad({sum}, {in[0]}, {}, true, true)[0];
  for (const torch::Tensor& more : torch::autograd::grad({at_first.square().sum()}, in)) {
    all.push_back(more);
  }
  return all;
}

TEST(ResNetFront, HasTheGradientsOfTheTwoConvolutions) {
  torch::manual_seed(8);
  for (const int64_t inputs : {1, 3}) {
    for (const int64_t channels : {16, 48}) {
      const std::vector<torch::nn::Conv2d> layers = {layer(inputs, channels, 3, 1),
                                                     layer(channels, channels, 3, 2),
                                                     layer(channels, channels, 1, 2)};
      for (const auto& [height, width] : {std::pair{2, 2}, {2, 6}, {4, 4}, {28, 20}}) {
        for (const int64_t batch : {1, 3}) {
          SCOPED_TRACE(testing::Message() << inputs << " to " << channels << " channels, " << height
                                          << "x" << width << ", batch " << batch);
          std::vector<torch::Tensor> in = {torch::rand({batch, inputs, height, width})}, wide;
          in[0].requires_grad_();
          for (const auto& c : layers) in.insert(in.end(), {c->weight, c->bias});
          for (const torch::Tensor& t : in) {
            wide.push_back(t.detach().to(torch::kFloat64).requires_grad_());
          }
          const ComposedFront front(layers[0], layers[1], layers[2]);
          const auto mine = gradients(front.forward(in[0]), in);
          const torch::Tensor map = at::conv2d(wide[0], wide[1], wide[2], 1, 1);
          const torch::Tensor a = at::conv2d(map, wide[3], wide[4], 2, 1);
          const torch::Tensor b = at::conv2d(map, wide[5], wide[6], 2);
          const auto exact = gradients(std::pair(a, b), wide);
          ASSERT_EQ(mine.size(), 14);
          for (size_t n = 0; n < mine.size(); ++n) {
            EXPECT_LT(relative_error(mine[n], exact[n]), 1e-5) << n;
          }
          // Frozen layers get no gradient, as anywhere.
          for (const auto& c : layers) c->weight.set_requires_grad(false);
          const ComposedFront frozen(layers[0], layers[1], layers[2]);
          const auto some =
              torch::autograd::grad({frozen.forward(in[0]).first.sum()}, {in[0], layers[1]->bias});
          EXPECT_EQ(some[1].min().item<double>(), batch * height * width / 4.0);
          for (const auto& c : layers) c->weight.set_requires_grad(true);
        }
      }
    }
  }
}

TEST(ResNetFront, GivesTheSameBitsInEveryBatch) {
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  const ComposedFront front(layer(1, 64, 3, 1), layer(64, 64, 3, 2), layer(64, 64, 1, 2));
  const torch::Tensor image = torch::rand({64, 1, 28, 28});
  const auto [all, all_others] = front.forward(image);
  const torch::Tensor gradient = front.backward(all, all_others);
  for (const auto& [begin, count] : {std::pair{0, 1}, {5, 3}, {63, 1}, {20, 40}}) {
    const auto [some, some_others] = front.forward(image.narrow(0, begin, count));
    EXPECT_TRUE(some.equal(all.narrow(0, begin, count)));
    EXPECT_TRUE(some_others.equal(all_others.narrow(0, begin, count)));
    EXPECT_TRUE(front.backward(some, some_others).equal(gradient.narrow(0, begin, count)));
  }
}

void expect_agreement(EnergyModel& model, const torch::Tensor& x) {
  Evaluation evaluation;
  model.evaluate(x, evaluation);
  const StateSpace space = model.space();
  torch::Tensor relaxed = (space.one_hot() ? at::one_hot(x.to(torch::kInt64), space.categories) : x)
                              .to(torch::kFloat32);
  relaxed.requires_grad_();
  const torch::Tensor plain = model.energy(relaxed);
  plain.sum().backward();
  EXPECT_LT((evaluation.energy - plain.detach()).abs().max().item<double>(), 1e-4);
  EXPECT_LT(relative_error(evaluation.gradient, relaxed.grad().to(torch::kFloat64)), 1e-5);
  const torch::NoGradGuard no_grad;
  EXPECT_LT((model.energy(x) - plain).abs().max().item<double>(), 1e-4);
}

TEST(ResNetFront, LeavesEnergiesAndGradientsOfNetworks) {
  torch::manual_seed(5);
  for (const int64_t channels : {8, 16, 32, 64}) {
    for (const auto& [height, width] : {std::pair{28, 28}, {12, 20}, {4, 4}, {7, 9}, {8, 5}}) {
      const auto model = new_model(
          "resnet", {.image_height = height, .image_width = width, .channels = channels}, 1);
      for (const int64_t batch : {1, 3, 64}) {
        SCOPED_TRACE(testing::Message()
                     << channels << " channels, " << height << "x" << width << ", batch " << batch);
        expect_agreement(*model, torch::randint(0, 2, {batch, height * width}, torch::kUInt8));
      }
    }
  }
}

TEST(ResNetFront, LeavesEnergiesAndGradientsOfCategories) {
  torch::manual_seed(7);
  for (const int64_t proj : {3, 4, 9}) {
    const auto model = new_model(
        "resnet",
        {.image_height = 12, .image_width = 8, .channels = 32, .categories = 5, .proj = proj}, 1);
    for (const int64_t batch : {1, 3, 64}) {
      SCOPED_TRACE(testing::Message() << proj << " inputs, batch " << batch);
      expect_agreement(*model, torch::randint(0, 5, {batch, 96}, torch::kUInt8));
    }
  }
}

TEST(ResNetFront, FollowsTheParameters) {
  torch::manual_seed(6);
  const auto model =
      new_model("resnet", {.image_height = 12, .image_width = 12, .channels = 16}, 1);
  const torch::Tensor x = torch::randint(0, 2, {3, 144}, torch::kUInt8);
  for (const char* name : {"proj.weight", "proj.bias", "net.0.conv1.weight", "net.0.conv1.bias",
                           "net.0.shortcut_conv.weight", "net.0.shortcut_conv.bias"}) {
    Evaluation before, after;
    model->evaluate(x, before);
    {
      const torch::NoGradGuard no_grad;
      model->named_parameters()[name].mul_(2);
    }
    model->evaluate(x, after);
    EXPECT_FALSE(before.energy.equal(after.energy)) << name;
    expect_agreement(*model, x);
  }
}

}  // namespace
}  // namespace isinglass::resnet_front_test
