// The kernel that computes a whole ResNet, in its CPU version, gives the energies and gradients of
// the model's own layers, which LibTorch differentiates in float64. tests/simt/ compares the CUDA
// version with it.
#include "models/network/resnet_pass.h"

#include <gtest/gtest.h>

#include "models/full_precision.h"
#include "tests/models/network/resnet_reference.h"

namespace isinglass::resnet_pass_test {
namespace {

// Returns the largest difference relative to the largest number.
double relative_error(const torch::Tensor& a, const torch::Tensor& exact) {
  EXPECT_EQ(a.sizes(), exact.sizes());
  return ((a.to(torch::kFloat64) - exact).abs().max() / exact.abs().max()).item<double>();
}

std::shared_ptr<ResNetModel> model_of(const ResNetModel::Shape& shape) {
  torch::manual_seed(4);
  return std::make_shared<ResNetModel>(shape, torch::Tensor());
}

ResNetShape shape_of(const ResNetModel::Shape& s) {
  return {.height = s.height,
          .width = s.width,
          .inputs = s.categories > 0 ? s.proj : 1,
          .channels = s.channels,
          .linear_head = s.linear_head};
}

TEST(ResNetPass, IsTheNetwork) {
  for (const ResNetModel::Shape& c : {ResNetModel::Shape{28, 28, 16},
                                      {28, 20, 32, 0, 0, true},
                                      {10, 14, 64},
                                      {12, 8, 16, 5, 3, true}}) {
    const auto model = model_of(c);
    const ResNetShape shape = shape_of(c);
    const torch::Tensor image = torch::rand({2, shape.inputs, c.height, c.width});
    ResNetPass pass;
    torch::Tensor at_image;
    pass.update(shape, *model, model->parameters());
    const torch::Tensor net = pass(shape, image, &at_image);

    const torch::Tensor exact_image = image.to(torch::kFloat64).requires_grad_();
    const torch::Tensor exact = exact_net(c, exact_parameters(*model), exact_image);
    const torch::Tensor exact_gradient = torch::autograd::grad({exact.sum()}, {exact_image})[0];

    // float32 in 17 layers; the packed weights are rounded once more.
    EXPECT_LT(relative_error(net, exact.detach()), 2e-6);
    EXPECT_LT(relative_error(at_image, exact_gradient), 5e-6);
    EXPECT_TRUE(torch::equal(pass(shape, image, nullptr), net));
  }
}

TEST(ResNetPass, FollowsChangedParametersAtTheSameAddresses) {
  const auto model = model_of({8, 8, 16});
  const ResNetShape shape{.height = 8, .width = 8, .inputs = 1, .channels = 16};
  const torch::Tensor image = torch::rand({1, 1, 8, 8});
  ResNetPass pass;
  pass.update(shape, *model, model->parameters());
  const torch::Tensor before = pass(shape, image, nullptr);
  {
    const torch::NoGradGuard no_grad;
    model->named_parameters()["energy_linear.bias"].add_(1);
  }
  pass.update(shape, *model, model->parameters());
  const torch::Tensor after = pass(shape, image, nullptr);
  EXPECT_NEAR(after.item<double>(), before.item<double>() + 1, 1e-6);

  const torch::Tensor packed = ResNetPass::packed(shape, *model, {});
  EXPECT_EQ(ResNetPass::packed(shape, *model, packed).data_ptr(), packed.data_ptr());
}

TEST(ResNetPassGpu, AgreesWithTheCpuAndDoesNotDependOnOtherChains) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const FullPrecision full;
  for (const ResNetModel::Shape& c : {ResNetModel::Shape{28, 28, 16},
                                      {28, 28, 32, 0, 0, true},
                                      {28, 28, 64},
                                      {10, 14, 64},
                                      {12, 8, 16, 5, 3, true}}) {
    SCOPED_TRACE(testing::Message() << c.channels << " channels, " << c.height << "x" << c.width);
    const auto model = model_of(c);
    const torch::Tensor x = torch::randint(0, c.categories > 0 ? c.categories : 2,
                                           {300, c.height * c.width}, torch::kUInt8);
    const EnergyGrad here = model->energy_and_grad(x);
    model->to(torch::kCUDA);
    const EnergyGrad there = model->energy_and_grad(x.cuda());
    EXPECT_LT(relative_error(there.energy.cpu(), here.energy), 1e-5);
    EXPECT_LT(relative_error(there.gradient.cpu(), here.gradient), 1e-4);
    const EnergyGrad few = model->energy_and_grad(x.narrow(0, 290, 7).cuda());
    EXPECT_TRUE(torch::equal(few.energy, there.energy.narrow(0, 290, 7)));
    EXPECT_TRUE(torch::equal(few.gradient, there.gradient.narrow(0, 290, 7)));
  }
}

}  // namespace
}  // namespace isinglass::resnet_pass_test
