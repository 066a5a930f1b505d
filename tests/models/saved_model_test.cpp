// A model's state dict, saved and loaded again, is the same model; a file that is refused is named,
// with its tensor, in the error.
#include <gtest/gtest.h>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::saved_model_test {
namespace {

NamedTensors state_dict(const torch::nn::Module& module) {
  NamedTensors state;
  for (const auto& entry : module.named_parameters())
    state.emplace_back(entry.key(), entry.value());
  for (const auto& entry : module.named_buffers()) state.emplace_back(entry.key(), entry.value());
  return state;
}

// The error of loading these tensors names the file and holds the words.
void expect_refused(const std::string& model, const NamedTensors& tensors, const std::string& words,
                    ModelOptions options = {}) {
  SCOPED_TRACE(model + ": " + words);
  const Scratch scratch;
  options.weights = scratch / "weights.pt";
  write_named_tensors(options.weights, tensors);
  try {
    load_model(model, options);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(options.weights.string()), std::string::npos) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

TEST(SavedModel, LoadsWithTheSameEnergiesAndGradients) {
  const Scratch scratch;
  torch::manual_seed(5);
  const torch::Tensor mean = 0.1 + 0.8 * torch::rand({120});
  const torch::Tensor x = torch::randint(2, {6, 120}, torch::kUInt8);
  for (const char* name : {"rbm", "mlp", "resnet"}) {
    for (const torch::Tensor& base : {torch::Tensor(), mean}) {
      SCOPED_TRACE(std::string(name) + (base.defined() ? " with a mean" : ""));
      const NewModelOptions small{
          .image_height = 12, .image_width = 10, .channels = 4, .hidden = 9, .base_mean = base};
      const auto saved = new_model(name, small, 17);
      const auto weights = scratch / "weights.pt";
      write_named_tensors(weights, state_dict(*saved));
      const auto loaded =
          load_model(name, {.weights = weights, .image_height = 12, .image_width = 10});
      const EnergyGrad before = saved->energy_and_grad(x), after = loaded->energy_and_grad(x);
      EXPECT_TRUE(torch::equal(before.energy, after.energy));
      EXPECT_TRUE(torch::equal(before.gradient, after.gradient));
      EXPECT_EQ(saved->base_mean().defined(), loaded->base_mean().defined());
    }
  }
}

TEST(SavedModel, ARefusedFileIsNamed) {
  const torch::Tensor edges = torch::tensor({0, 1, 1, 2}, torch::kInt64).view({2, 2});
  const torch::Tensor two = torch::ones({2}), three = torch::ones({3});
  expect_refused("ising", {{"edges", edges}, {"coupling", two}}, "'field'");
  expect_refused("ising", {{"edges", edges}, {"coupling", three}, {"field", three}}, "'coupling'");
  expect_refused("ising", {{"edges", edges + 1}, {"coupling", two}, {"field", three}}, "'edges'");
  expect_refused("ising", {{"edges", edges * 0}, {"coupling", two}, {"field", three}}, "'edges'");
  expect_refused("bernoulli", {{"theta", two}, {"momentum", two}}, "'momentum'");
  expect_refused("bernoulli", {{"theta", two / 0 * 0}}, "'theta'");  // not a number
  expect_refused("categorical", {{"theta", torch::zeros({2, 257})}}, "'theta'");
}

TEST(SavedModel, ARefusedMeanIsNamedWithItsFile) {
  const auto resnet = new_model(
      "resnet",
      {.image_height = 5, .image_width = 6, .channels = 2, .base_mean = torch::full({30}, 0.5)}, 1);
  NamedTensors tensors = state_dict(*resnet);
  expect_refused("resnet", tensors, "'mean'", {.image_height = 6, .image_width = 6});
  for (const double outside : {0.0, 1.0}) {
    ASSERT_EQ(tensors.back().first, "mean");
    tensors.back().second = torch::full({30}, outside);
    expect_refused("resnet", tensors, "'mean'", {.image_height = 5, .image_width = 6});
  }
}

}  // namespace
}  // namespace isinglass::saved_model_test
