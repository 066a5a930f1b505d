// A step of a ResNet leaves its activations where convolutions want them, channels last: it copies
// none of them from one layout to another.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/energy_model.h"
#include "models/registry.h"

namespace isinglass::resnet_layout_test {
namespace {

thread_local std::vector<std::string>* copies = nullptr;

// [B, C, H, W] of several channels and positions, in memory of its own: no broadcast weights.
bool is_activation(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  const torch::Tensor& t = value.toTensor();
  return t.dim() == 4 && t.size(1) > 1 && t.size(2) > 1 && t.is_non_overlapping_and_dense();
}

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call) {
  const std::string name = call.name();
  const bool moves = name == "aten::clone" || name == "aten::copy_" || name == "aten::_to_copy";
  const auto inputs = call.inputs();
  const size_t from = name == "aten::copy_" ? 1 : 0;
  if (moves && inputs.size() > from && is_activation(inputs[from])) copies->push_back(name);
  return nullptr;
}

// Returns the copies of activations that the call makes, by the names of LibTorch's operators.
std::vector<std::string> copies_of(const std::function<void()>& call) {
  std::vector<std::string> found;
  copies = &found;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  call();
  at::removeCallback(handle);
  copies = nullptr;
  return found;
}

TEST(ResNetLayout, ACopyIsNoticed) {
  const torch::Tensor rows = torch::rand({3, 8, 5, 5});
  EXPECT_FALSE(copies_of([&] { rows.contiguous(at::MemoryFormat::ChannelsLast); }).empty());
  EXPECT_TRUE(copies_of([&] { rows.contiguous(); }).empty());
}

TEST(ResNetLayout, AStepCopiesNoActivations) {
  for (const int64_t channels : {8, 64}) {
    for (const auto precision : {GradientPrecision::kFloat32, GradientPrecision::kBfloat16}) {
      const auto model =
          new_model("resnet", {.image_height = 12, .image_width = 12, .channels = channels}, 1);
      model->set_gradient_precision(precision);
      const torch::Tensor x = torch::randint(0, 2, {6, 144}, torch::kUInt8);
      Evaluation evaluation;
      model->evaluate(x, evaluation);  // makes the weights in bfloat16
      EXPECT_EQ(copies_of([&] { model->evaluate(x, evaluation); }), std::vector<std::string>{})
          << channels << " channels";
      EXPECT_EQ(copies_of([&] { model->evaluate_energy(x, evaluation); }),
                std::vector<std::string>{})
          << channels << " channels";
    }
  }
}

// cuDNN returns activations in the layout that the strides of image and weights determine, as
// suggest_memory_format() does; with one channel the strides fit both layouts.
TEST(ResNetLayout, AnImageOfOneChannelIsChannelsLastByItsStrides) {
  const auto model = new_model("resnet", {.image_height = 12, .image_width = 12, .channels = 8}, 1);
  const torch::Tensor x = torch::randint(0, 2, {6, 144}, torch::kUInt8);
  Evaluation evaluation;
  static int images;
  images = 0;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
            if (std::string(call.name()) != "aten::copy_") return nullptr;
            const torch::Tensor& from = call.inputs()[1].toTensor();
            if (from.sizes() != at::IntArrayRef({6, 1, 12, 12})) return nullptr;
            ++images;
            EXPECT_EQ(from.suggest_memory_format(), at::MemoryFormat::ChannelsLast);
            return nullptr;
          })
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION}));
  model->evaluate(x, evaluation);
  at::removeCallback(handle);
  EXPECT_GT(images, 0);
}

}  // namespace
}  // namespace isinglass::resnet_layout_test
