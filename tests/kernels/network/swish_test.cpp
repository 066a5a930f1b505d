// swish against LibTorch's silu and its derivative, in both precisions of the slopes.
#include "kernels/ops/swish.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isinglass::swish_test {
namespace {

class SwishKernel : public testing::TestWithParam<torch::ScalarType> {};

TEST_P(SwishKernel, EqualsSiluAndItsDerivative) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(3);
  const auto normal = [&] {
    return (30 * torch::randn({3, 5, 7, 9}, generator)).contiguous(at::MemoryFormat::ChannelsLast);
  };
  // One rounding of the result to the slopes' precision, and float32's on the way.
  const double rounding = GetParam() == torch::kFloat32 ? 1e-6 : 1.0 / 256;
  const torch::Tensor a = normal(), b = normal();
  const torch::Tensor g = normal().to(GetParam()), h = normal().to(GetParam());
  for (const bool both : {false, true}) {
    const torch::Tensor other = both ? b : torch::Tensor(), more = both ? h : torch::Tensor();
    torch::Tensor sum = a.to(torch::kFloat64);
    if (other.defined()) sum = sum + other.to(torch::kFloat64);
    sum = sum.detach().requires_grad_(true);
    const torch::Tensor value = torch::silu(sum);
    const torch::Tensor derivative = torch::autograd::grad({value.sum()}, {sum})[0];
    torch::Tensor y = torch::empty_like(a), slope = torch::empty_like(g);
    ops::swish(a, other, y, slope);
    EXPECT_TRUE(torch::allclose(y.to(torch::kFloat64), value.detach(), 1e-6, 1e-6));
    EXPECT_TRUE(torch::allclose(slope.to(torch::kFloat64), derivative, rounding, 1e-5));
    torch::Tensor back = torch::empty_like(g);
    ops::swish_backward(g, more, slope, back);
    torch::Tensor incoming = g.to(torch::kFloat64);
    if (both) incoming = incoming + h.to(torch::kFloat64);
    EXPECT_TRUE(torch::allclose(back.to(torch::kFloat64), incoming * slope.to(torch::kFloat64),
                                rounding, 1e-6));
  }
}

TEST_P(SwishKernel, HasItsLimits) {
  torch::Tensor a = torch::tensor({-1e30, -200.0, 0.0, 200.0, 1e30, std::nan("")});
  torch::Tensor y = torch::empty_like(a), slope = torch::empty_like(a, GetParam());
  ops::swish(a, {}, y, slope);
  EXPECT_TRUE(torch::allclose(y.slice(0, 0, 5), torch::relu(a.slice(0, 0, 5)), 0, 1e-30));
  EXPECT_TRUE(torch::allclose(slope.slice(0, 0, 5).to(torch::kFloat32),
                              torch::tensor({0.0f, 0.0f, 0.5f, 1.0f, 1.0f}), 0, 1e-30));
  EXPECT_TRUE(y[5].isnan().item<bool>() && slope[5].isnan().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Precisions, SwishKernel,
                         testing::Values(torch::kFloat32, torch::kBFloat16),
                         [](const auto& info) { return std::string(c10::toString(info.param)); });

}  // namespace
}  // namespace isinglass::swish_test
