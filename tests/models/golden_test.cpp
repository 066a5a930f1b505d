// Energies and gradients of the deep models against a plain PyTorch implementation of the same
// state dict (golden/resnet.py), to 1e-4 relative; keys exactly as PyTorch writes them.
#include <gtest/gtest.h>

#include "io/pt/pt_file.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/source_tree.h"

namespace isinglass::golden_test {
namespace {

const std::filesystem::path kGolden = source_tree() / "tests/models/golden";

struct GoldenCase {
  std::string file, model;
  int64_t height, width;
};

class GoldenValues : public testing::TestWithParam<GoldenCase> {
 protected:
  std::filesystem::path weights = kGolden / (GetParam().file + ".pt");
  std::shared_ptr<EnergyModel> model = load_model(
      GetParam().model,
      {.weights = weights, .image_height = GetParam().height, .image_width = GetParam().width});
};

TEST_P(GoldenValues, EnergiesAndGradientsAgree) {
  const NamedTensors expected = read_named_tensors(kGolden / (GetParam().file + "_expected.pt"));
  ASSERT_EQ(expected.size(), 3u);
  const torch::Tensor x = expected[0].second, energy = expected[1].second;
  const torch::Tensor gradient = expected[2].second;
  check_states(model->space(), x, "the golden states");
  const EnergyGrad found = model->energy_and_grad(x);
  EXPECT_LE((found.energy - energy).abs().max().item<double>(),
            1e-4 * energy.abs().max().item<double>());
  EXPECT_LE((found.gradient - gradient).abs().max().item<double>(),
            1e-4 * gradient.abs().max().item<double>());
}

TEST_P(GoldenValues, KeysAreThoseOfPyTorchInItsOrder) {
  std::vector<std::string> expected, found = model->named_parameters().keys();
  for (const auto& [key, tensor] : read_named_tensors(weights)) expected.push_back(key);
  for (const std::string& key : model->named_buffers().keys()) found.push_back(key);
  if (model->base_mean().defined()) {  // PyTorch writes a module's own buffers before its children
    std::rotate(found.begin(), found.end() - 1, found.end());
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenValues,
                         testing::Values(GoldenCase{"resnet_28x28", "resnet", 28, 28},
                                         GoldenCase{"resnet_28x28_mean", "resnet", 28, 28},
                                         GoldenCase{"resnet_12x10", "resnet", 12, 10},
                                         GoldenCase{"resnet_12x10_mean", "resnet", 12, 10},
                                         GoldenCase{"resnet_7x6_of_5", "resnet", 7, 6},
                                         GoldenCase{"resnet_7x6_of_5_mean", "resnet", 7, 6},
                                         GoldenCase{"mlp", "mlp", 4, 5}),
                         [](const testing::TestParamInfo<GoldenCase>& info) {
                           return info.param.file;
                         });

TEST(ResNet, BaseMeanIsTheFiles) {
  const auto with = load_model(
      "resnet",
      {.weights = kGolden / "resnet_12x10_mean.pt", .image_height = 12, .image_width = 10});
  EXPECT_EQ(with->base_mean().sizes(), (std::vector<int64_t>{120}));
  const auto without = load_model(
      "resnet", {.weights = kGolden / "resnet_12x10.pt", .image_height = 12, .image_width = 10});
  EXPECT_FALSE(without->base_mean().defined());
}

}  // namespace
}  // namespace isinglass::golden_test
