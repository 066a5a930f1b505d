// Adam and the moving average against plain float64 loops.
#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "train/optimiser/adam.h"
#include "train/optimiser/ema.h"

namespace isinglass::optimiser_test {
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

// Models cache values derived from a parameter as long as its version stays the same.
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

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

testing::AssertionResult holds(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << words << "' is not in '" << text << "'";
}

// The kernel walks as many elements of memory as it is told.
TEST(AdamTest, ParametersThatAreNotWhatTheyWereAreRefused) {
  const auto changed = [](const torch::Tensor& data) {
    std::vector<torch::Tensor> parameters = {torch::zeros({5, 7}).requires_grad_(true)};
    Adam adam(parameters);
    parameters[0].mutable_grad() = torch::ones_like(parameters[0]);
    adam.step(1e-3);
    parameters[0].set_data(data);
    parameters[0].mutable_grad() = torch::ones(data.sizes(), data.options());
    return error_of([&] { adam.step(1e-3); });
  };
  EXPECT_EQ(changed(torch::zeros({5, 7})), "");
  EXPECT_TRUE(holds(changed(torch::zeros({50, 7})), "is float32 of shape [50, 7]"));
  EXPECT_TRUE(holds(changed(torch::zeros({5, 3})), "is float32 of shape [5, 3]"));
  EXPECT_TRUE(holds(changed(torch::zeros({7, 5}).t()), "the strides [1, 5]"));
  EXPECT_TRUE(holds(changed(torch::zeros({1}).expand({5, 7})), "the strides [0, 0]"));
  EXPECT_TRUE(holds(changed(torch::zeros({5, 7}, torch::kFloat64)), "is float64"));
}

TEST(AdamTest, ParametersWhoseElementsShareMemoryAreRefused) {
  EXPECT_TRUE(holds(error_of([] { Adam({torch::zeros({1}).expand({5})}); }), "share memory"));
}

// A hook or a user's own code may set such gradients.
TEST(AdamTest, GradientsInAnotherMemoryOrderMeanTheSame) {
  const torch::Tensor gradient = torch::randn({5, 7});
  std::vector<torch::Tensor> plain = {torch::zeros({5, 7}).requires_grad_(true)};
  std::vector<torch::Tensor> turned = {torch::zeros({5, 7}).requires_grad_(true)};
  plain[0].mutable_grad() = gradient;
  turned[0].mutable_grad() = gradient.t().contiguous().t();
  Adam(plain).step(1e-3);
  Adam(turned).step(1e-3);
  EXPECT_TRUE(plain[0].equal(turned[0]));
}

class AdamDecayTest : public testing::TestWithParam<double> {};

// Decay applies to the weights, not to the bias.
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
      // The gradient has another memory order than the parameter, as backward() may give it.
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

// A skipped step has no effect: the next steps equal those of an optimiser that has not seen it.
TEST(AdamTest, ASkippedStepLeavesEveryBit) {
  for (const double decay : {0.0, 0.3}) {
    std::vector<torch::Tensor> parameters = make_parameters(), plain = make_parameters();
    Adam adam(parameters, decay), reference(plain, decay);
    Ema ema(parameters, 0.9), average(plain, 0.9);
    adam.set_learning_rate(1e-2);
    reference.set_learning_rate(1e-2);
    const auto step = [](Adam& optimiser, Ema& mean, std::vector<torch::Tensor>& all, double scale,
                         double skip) {
      for (size_t k = 0; k < all.size(); ++k) {
        all[k].mutable_grad() = torch::full_like(all[k].detach(), scale * (1.0 + k));
      }
      optimiser.step(torch::tensor(skip, torch::kFloat32));
      mean.update(torch::tensor(skip, torch::kFloat32));
    };
    step(adam, ema, parameters, NAN, 1);  // the very first
    for (int t = 1; t <= 8; ++t) {
      step(adam, ema, parameters, 0.1 * t, 0);
      step(reference, average, plain, 0.1 * t, 0);
      for (const double scale : {static_cast<double>(NAN), static_cast<double>(INFINITY), 3.0}) {
        step(adam, ema, parameters, scale, 1);
      }
    }
    EXPECT_EQ(adam.step_number().item<float>(), 8);
    EXPECT_EQ(ema.updates().item<double>(), 8);
    for (size_t k = 0; k < plain.size(); ++k) {
      EXPECT_TRUE(torch::equal(parameters[k], plain[k])) << k;
      EXPECT_TRUE(torch::equal(adam.first_moments()[k], reference.first_moments()[k])) << k;
      EXPECT_TRUE(torch::equal(adam.second_moments()[k], reference.second_moments()[k])) << k;
      EXPECT_TRUE(torch::equal(ema.averages()[k], average.averages()[k])) << k;
    }
    // Without a `skip` tensor, a step is made.
    Adam silent(plain, decay);
    const torch::Tensor before = plain[0].detach().clone();
    silent.step(1e-2);
    EXPECT_FALSE(torch::equal(plain[0].detach(), before));
  }
}

TEST(EmaTest, EqualsTheRecursionInFloat64) {
  std::vector<torch::Tensor> parameters = make_parameters();
  Ema ema(parameters, 0.9);
  std::vector<double> reference = values(parameters[0]);
  constexpr int kUpdates = 120;
  for (int t = 1; t <= kUpdates; ++t) {
    torch::NoGradGuard no_grad;
    const double decay = std::min(0.9, (1.0 + t) / (10.0 + t));  // the second from 80 on
    parameters[0].add_(torch::randn_like(parameters[0]), 0.1);
    const std::vector<double> theta = values(parameters[0]);
    for (size_t i = 0; i < theta.size(); ++i) {
      reference[i] = decay * reference[i] + (1 - decay) * theta[i];
    }
    ema.update();
  }
  const std::vector<double> got = values(ema.averages()[0]);
  // Errors of two roundings (|θ̄| < 8: 2^-22) and of the decay's (2^-25·8) an update shrink by 0.9
  // each or more: ten of them at most.
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], reference[i], 10 * 2.5 * 0x1p-22);
}

// A run that is short compared with 1/(1 − decay) averages what it has learned, and not its start:
// after n updates the start has weight Π (1 + t)/(10 + t) = 10!·(n + 1)!/(n + 10)!.
TEST(EmaTest, AShortRunForgetsItsStart) {
  std::vector<torch::Tensor> parameters = {torch::ones({3, 2})};
  Ema ema(parameters, 0.999);
  {
    torch::NoGradGuard no_grad;
    parameters[0].zero_();
  }
  double start = 1;
  for (int t = 1; t <= 30; ++t) {
    ema.update();
    start *= (1.0 + t) / (10.0 + t);
  }
  EXPECT_LT(start, 1e-7 * 1e2);
  EXPECT_NEAR(ema.averages()[0].max().item<double>(), start, 1e-4 * start);
}

// The weights of an update add up to 1: the average of a constant is that constant, almost to the
// bit, after any number of updates.
TEST(EmaTest, AnAverageOfConstantsDoesNotShrink) {
  std::vector<torch::Tensor> parameters = {torch::full({4}, 1.25)};
  Ema ema(parameters, 0.999);
  for (int t = 0; t < 20000; ++t) ema.update();
  // The rounding of an update's sum is at most ½ ulp, and the average returns by 1/1000 of it.
  EXPECT_NEAR(ema.averages()[0].max().item<double>(), 1.25, 1000 * 0x1p-23);
}

// In bfloat16 the average would stay at its start for ever: 0.001 · (1.5 − 1) is less than half of
// the last bit of 1, 2^-8.
TEST(EmaTest, AveragesOf16BitParametersFollowThem) {
  for (const auto type : {torch::kBFloat16, torch::kFloat16}) {
    std::vector<torch::Tensor> parameters = {torch::ones({3}, type), torch::ones({3})};
    Ema ema(parameters, 0.999);
    const auto updates = [&](int count) {
      for (int t = 0; t < count; ++t) ema.update();
    };
    updates(10000);  // from 8990 on the decay is 0.999
    {
      torch::NoGradGuard no_grad;
      for (torch::Tensor& p : parameters) p.fill_(1.5);
    }
    updates(1000);
    EXPECT_TRUE(torch::equal(ema.averages()[0], ema.averages()[1]));
    EXPECT_NEAR(ema.averages()[0][0].item<double>(), 1.5 - 0.5 * std::pow(0.999, 1000), 1e-4);
    EXPECT_TRUE(torch::equal(ema.rounded()[0], ema.averages()[0].to(type)));
    ema.apply();
    EXPECT_TRUE(torch::equal(parameters[0], ema.rounded()[0]));
    ema.restore();
    EXPECT_TRUE(torch::equal(parameters[0], torch::full({3}, 1.5, type)));
  }
}

TEST(EmaTest, RestoresBitForBit) {
  std::vector<torch::Tensor> parameters = make_parameters();
  Ema ema(parameters, 0.5);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : parameters) p.mul_(1.7);
  }
  ema.update();
  const torch::Tensor raw = parameters[0].detach().clone(), average = ema.averages()[0].clone();
  EXPECT_FALSE(torch::equal(raw, average));
  ema.apply();
  EXPECT_TRUE(torch::equal(parameters[0].detach(), average));
  EXPECT_TRUE(parameters[0].is_contiguous(torch::MemoryFormat::ChannelsLast));
  ema.restore();
  EXPECT_TRUE(torch::equal(parameters[0].detach(), raw));
  EXPECT_TRUE(torch::equal(ema.averages()[0], average));
}

}  // namespace
}  // namespace isinglass::optimiser_test
