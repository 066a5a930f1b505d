// Gradients in bfloat16 (--gradient-precision bf16): they are close to those in float32 of the
// present weights, and a proposal that uses them leaves the law of the float32 energy invariant.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <set>

#include "io/error.h"
#include "models/registry.h"
#include "tests/engine/transitions.h"
#include "tests/support/scratch.h"

namespace isinglass::gradient_precision_test {
namespace {

double relative_error(const torch::Tensor& value, const torch::Tensor& expected) {
  return ((value - expected).norm() / expected.norm()).item<double>();
}

TEST(GradientPrecision, OnlyGradientsAreRounded) {
  const torch::Tensor mean = torch::linspace(0.1, 0.9, 64);
  const auto model = new_model(
      "resnet", {.image_height = 8, .image_width = 8, .channels = 8, .base_mean = mean}, 3);
  const torch::Tensor x = torch::randint(2, {20, 64}, torch::kUInt8);
  const EnergyGrad full = model->energy_and_grad(x);
  model->set_gradient_precision(GradientPrecision::kBfloat16);
  const EnergyGrad low = model->energy_and_grad(x);
  EXPECT_TRUE(torch::allclose(low.energy, full.energy, 1e-6, 1e-6));
  EXPECT_EQ(low.gradient.dtype(), torch::kFloat32);
  EXPECT_LT(relative_error(low.gradient, full.gradient), 0.02);
  EXPECT_FALSE(torch::equal(low.gradient, full.gradient));
}

TEST(GradientPrecision, FollowsTheWeights) {
  const auto model = new_model("resnet", {.image_height = 6, .image_width = 6, .channels = 4}, 3);
  model->set_gradient_precision(GradientPrecision::kBfloat16);
  const torch::Tensor x = torch::randint(2, {5, 36}, torch::kUInt8);
  const torch::Tensor before = model->energy_and_grad(x).gradient.clone();
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.mul_(1.5);
  }
  const torch::Tensor low = model->energy_and_grad(x).gradient;
  model->set_gradient_precision(GradientPrecision::kFloat32);
  const torch::Tensor full = model->energy_and_grad(x).gradient;
  EXPECT_LT(relative_error(low, full), 0.02);
  EXPECT_GT(relative_error(low, before), 0.1);
}

// Returns the addresses of the weights with which gradients are computed.
std::set<const void*> weights_of_gradients(EnergyModel& model, const torch::Tensor& x) {
  static thread_local std::set<const void*> found;
  found.clear();
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
            if (std::string(call.name()) == "aten::convolution_backward") {
              found.insert(call.inputs()[2].toTensor().const_data_ptr());
            }
            return nullptr;
          })
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION}));
  model.energy_and_grad(x);
  at::removeCallback(handle);
  return found;
}

// A captured step reads them at addresses (EnergyModel::reads_parameters_in_place).
TEST(GradientPrecision, TheWeightsStayWhereTheyAre) {
  const auto model = new_model("resnet", {.image_height = 6, .image_width = 6, .channels = 4}, 3);
  model->set_gradient_precision(GradientPrecision::kBfloat16);
  ASSERT_TRUE(model->reads_parameters_in_place());
  const torch::Tensor x = torch::randint(2, {5, 36}, torch::kUInt8);
  const std::set<const void*> before = weights_of_gradients(*model, x);
  EXPECT_GE(before.size(), 18U);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.mul_(1.5);
  }
  const torch::Tensor taken = torch::empty({1 << 16});  // freed memory may be reused
  EXPECT_EQ(weights_of_gradients(*model, x), before);
}

// Enumerates all states with the energies and gradients that the model gives.
Target enumerated(EnergyModel& model, int sites) {
  Target target{reference::StateTable(sites, 2), {}, {}};
  const EnergyGrad at = model.energy_and_grad(states_tensor(target, 1));
  for (int64_t s = 0; s < at.energy.size(0); ++s) {
    target.energy.push_back(at.energy[s].item<double>());
    Matrix gradient(sites, std::vector<double>(2, 0.0));
    for (int i = 0; i < sites; ++i) gradient[i][1] = at.gradient[s][i].item<double>();
    target.gradient.push_back(gradient);
  }
  return target;
}

TEST(GradientPrecision, StepsStayExact) {
  constexpr int kSites = 3;
  const auto model =
      new_model("resnet", {.image_height = 1, .image_width = kSites, .channels = 4}, 5);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.mul_(2);  // energies that differ
  }
  model->set_gradient_precision(GradientPrecision::kBfloat16);
  const Target target = enumerated(*model, kSites);
  for (const char* sampler : {"gwg", "pafs"}) {
    const reference::Rule rule{std::string(sampler) == "pafs", 2, reference::G::kSqrt};
    const Matrix exact = reference::path_transitions(target, rule);
    EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
    const Frequencies real = real_step(*model, target, sampler, {.radius = 2});
    EXPECT_LT(worst_deviation(real.share, exact), 7) << sampler;
  }
}

TEST(GradientPrecision, IsRefusedWhereThereIsOne) {
  const auto model = new_model("rbm", {.image_height = 2, .image_width = 2, .hidden = 2}, 1);
  EXPECT_ERROR(
      model->set_gradient_precision(GradientPrecision::kBfloat16),
      "bf16 requires a model with gradients in bfloat16, but rbm has gradients in float32 only");
}

}  // namespace
}  // namespace isinglass::gradient_precision_test
