// The model and the device determine everything that a run's spec leaves open.
#include "lab/run/assemble.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "io/error.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::assemble_test {
namespace {

std::shared_ptr<EnergyModel> new_resnet() {
  return new_model("resnet", {.image_height = 4, .image_width = 4, .channels = 8}, 1);
}

bool in_float32(const std::string& precision, EnergyModel& model, torch::Device device) {
  const torch::Tensor x = (torch::arange(64) % 3 == 0).to(torch::kUInt8).view({4, 16}).to(device);
  Evaluation exact, found;
  model.to(device);
  model.set_gradient_precision(GradientPrecision::kFloat32);
  model.evaluate(x, exact);
  set_gradient_precision({.gradient_precision = precision}, model, device);
  model.evaluate(x, found);
  return torch::allclose(found.gradient, exact.gradient, 1e-5, 1e-6);
}

TEST(Assemble, GradientsOfAResNetOnTheCpuAreInFloat32UnlessAskedOtherwise) {
  const auto resnet = new_resnet();
  EXPECT_TRUE(in_float32("auto", *resnet, torch::kCPU));
  EXPECT_FALSE(in_float32("bf16", *resnet, torch::kCPU));
  EXPECT_TRUE(in_float32("float32", *resnet, torch::kCPU));
  const auto rbm = new_model("rbm", {.image_height = 2, .image_width = 2, .hidden = 2}, 1);
  set_gradient_precision({.gradient_precision = "auto"}, *rbm, torch::kCPU);
  EXPECT_ERROR(set_gradient_precision({.gradient_precision = "bf16"}, *rbm, torch::kCPU),
               "float32 only");
}

TEST(Assemble, StepsOnTheCpuAreNotCaptured) {
  const auto resnet = new_resnet();
  const auto pafs = make_sampler("pafs", {.radius = 2}, *resnet);
  EXPECT_FALSE(captures_steps(std::nullopt, *resnet, *pafs, torch::kCPU));
  EXPECT_FALSE(captures_steps(false, *resnet, *pafs, torch::kCPU));
  EXPECT_ERROR(captures_steps(true, *resnet, *pafs, torch::kCPU), "captures steps on a GPU");
}

// The device is only named, not used.
TEST(Assemble, StepsOnAGpuAreCapturedWhereTheyCanBe) {
  const auto resnet = new_resnet();
  const torch::Device gpu(torch::kCUDA, 0);
  const auto pafs = make_sampler("pafs", {.radius = 2}, *resnet);
  const auto pas = make_sampler("pas", {.radius = 2}, *resnet);
  EXPECT_TRUE(captures_steps(std::nullopt, *resnet, *pafs, gpu));
  EXPECT_TRUE(captures_steps(true, *resnet, *pafs, gpu));
  EXPECT_FALSE(captures_steps(false, *resnet, *pafs, gpu));
  EXPECT_FALSE(captures_steps(std::nullopt, *resnet, *pas, gpu));
  EXPECT_ERROR(captures_steps(true, *resnet, *pas, gpu), "pas reads a number back from the GPU");
}

TEST(AssembleGpu, GradientsOfAResNetAreInBfloat16ByDefaultWhereTheGpuMultipliesInIt) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  const auto resnet = new_resnet();
  EXPECT_EQ(in_float32("auto", *resnet, torch::Device(torch::kCUDA, 0)), major < 8);
}

}  // namespace
}  // namespace isinglass::assemble_test
