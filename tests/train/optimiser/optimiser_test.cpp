// Adam and the moving average against plain float64 loops.
#include <gtest/gtest.h>

#include <cmath>

#include "train/optimiser/adam.h"
#include "train/optimiser/ema.h"

namespace isinglass {
namespace {

// Parameters of a convolution's shape in channels-last order, a bias, and a dense matrix.
std::vector<torch::Tensor> make_parameters() {
  torch::manual_seed(1);
  const torch::Tensor weight =
      torch::randn({4, 3, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  return {weight.requires_grad_(true), torch::randn({4}).requires_grad_(true),
          torch::randn({5, 7}).requires_grad_(true)};
}

std::vector<double> values(const torch::Tensor& t) {
  const torch::Tensor flat = t.detach().contiguous().flatten().to(torch::kFloat64);
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// Models keep things that follow from a parameter for as long as its version stays.
TEST(AdamTest, AStepMakesANewVersionOfEveryParameter) {
  std::vector<torch::Tensor> parameters = make_parameters();
  std::vector<uint32_t> before;
  for (torch::Tensor& p : parameters) {
    before.push_back(p._version());
    p.mutable_grad() = torch::ones_like(p);
  }
  Adam(parameters).step(1e-3);
  for (size_t k = 0; k < parameters.size(); ++k) EXPECT_GT(parameters[k]._version(), before[k]);
}

class AdamDecayTest : public testing::TestWithParam<double> {};

// Decay is of the weights, not of the bias.
TEST_P(AdamDecayTest, EqualsTheAlgorithmInFloat64) {
  std::vector<torch::Tensor> parameters = make_parameters();
  Adam adam(parameters, GetParam());
  struct Reference {
    std::vector<double> theta, m, v;
  };
  std::vector<Reference> references;
  for (const torch::Tensor& p : parameters) {
    references.push_back(
        {values(p), std::vector<double>(p.numel()), std::vector<double>(p.numel())});
  }
  constexpr int kSteps = 50;
  for (int t = 1; t <= kSteps; ++t) {
    const double rate = 1e-2 * std::min(1.0, t / 10.0);
    for (size_t k = 0; k < parameters.size(); ++k) {
      // A gradient in another memory order than the parameter's, as backward() may see it.
      const torch::Tensor g = torch::randn(parameters[k].sizes());
      parameters[k].mutable_grad() = torch::Tensor();
      (parameters[k] * g).sum().backward();
      const std::vector<double> gradient = values(g);
      auto& [theta, m, v] = references[k];
      for (size_t i = 0; i < theta.size(); ++i) {
        m[i] = 0.9 * m[i] + 0.1 * gradient[i];
        v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
        const double m_hat = m[i] / (1 - std::pow(0.9, t)), v_hat = v[i] / (1 - std::pow(0.999, t));
        if (parameters[k].dim() > 1) theta[i] *= 1 - rate * GetParam();
        theta[i] -= rate * m_hat / (std::sqrt(v_hat) + 1e-8);
      }
    }
    adam.step(rate);
  }
  EXPECT_EQ(adam.step_number().item<float>(), kSteps);
  // Float32 parameters of size ~3 and steps ≤ 1e-2 with a few roundings each: 50·(3 + 0.04)·2^-23.
  for (size_t k = 0; k < parameters.size(); ++k) {
    const std::vector<double> got = values(parameters[k]);
    const std::vector<double> m = values(adam.first_moments()[k]);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], references[k].theta[i], 2e-5) << "parameter " << k << " element " << i;
      EXPECT_NEAR(m[i], references[k].m[i], 2e-6) << "moment " << k << " element " << i;
    }
  }
  EXPECT_TRUE(parameters[0].is_contiguous(torch::MemoryFormat::ChannelsLast));
}

INSTANTIATE_TEST_SUITE_P(Decays, AdamDecayTest, testing::Values(0.0, 0.3));

TEST(EmaTest, EqualsTheRecursionInFloat64) {
  std::vector<torch::Tensor> parameters = make_parameters();
  Ema ema(parameters, 0.9);
  std::vector<double> reference = values(parameters[0]);
  for (int t = 0; t < 30; ++t) {
    torch::NoGradGuard no_grad;
    parameters[0].add_(torch::randn_like(parameters[0]), 0.1);
    const std::vector<double> theta = values(parameters[0]);
    for (size_t i = 0; i < theta.size(); ++i) reference[i] = 0.9 * reference[i] + 0.1 * theta[i];
    ema.update();
  }
  const std::vector<double> got = values(ema.averages()[0]);
  // Errors of a rounding (|θ̄| < 8: 2^-22) an update shrink by 0.9 each: ten of them at most.
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], reference[i], 10 * 0x1p-22);
}

TEST(EmaTest, SwapsBitForBit) {
  std::vector<torch::Tensor> parameters = make_parameters();
  Ema ema(parameters, 0.5);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : parameters) p.mul_(1.7);
  }
  ema.update();
  const torch::Tensor raw = parameters[0].detach().clone(), average = ema.averages()[0].clone();
  EXPECT_FALSE(torch::equal(raw, average));
  ema.swap();
  EXPECT_TRUE(torch::equal(parameters[0].detach(), average));
  EXPECT_TRUE(torch::equal(ema.averages()[0], raw));
  EXPECT_TRUE(parameters[0].is_contiguous(torch::MemoryFormat::ChannelsLast));
  ema.swap();
  EXPECT_TRUE(torch::equal(parameters[0].detach(), raw));
  EXPECT_TRUE(torch::equal(ema.averages()[0], average));
}

}  // namespace
}  // namespace isinglass
