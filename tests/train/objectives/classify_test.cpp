// Classification: the loss equals its formula, its gradient equals central differences, and a run
// resumes bit for bit. Built-in sets of points and classes are as documented.
#include "train/objectives/classify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/network/mlp.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::classify_test {
namespace {

Dataset grey(int64_t count) {
  torch::manual_seed(3);
  Dataset data;
  data.name = "grey";
  data.train = torch::rand({count, 4});
  data.height = data.width = 2;
  return data;
}

std::shared_ptr<EnergyModel> classifier() {
  return new_model("mlp", {.image_height = 2, .image_width = 2, .continuous = true, .classes = 3},
                   5);
}

TEST(Classify, LossIsItsFormula) {
  const Dataset data = grey(7);
  const torch::Tensor labels = torch::tensor({0, 2, 1, 1, 0, 2, 2}, torch::kInt64);
  const auto model = classifier();
  ClassifyObjective objective(*model, data, labels, {.batch = 7}, torch::kCPU);
  const Loss made = objective.loss(*model, objective.draw(*model, 1));
  const double loss = made.value.item<double>();
  const torch::Tensor logits = dynamic_cast<MlpModel&>(*model).logits(data.train);
  double expected = 0;  // the batch is the whole set, in some order
  for (int64_t b = 0; b < 7; ++b) {
    double sum = 0;
    for (int64_t c = 0; c < 3; ++c) sum += std::exp(logits[b][c].item<double>());
    expected += (std::log(sum) - logits[b][labels[b].item<int64_t>()].item<double>()) / 7;
  }
  EXPECT_NEAR(loss, expected, 1e-6);
  ASSERT_EQ(made.metrics.size(), 1u);
  EXPECT_EQ(made.metrics[0].first, "loss");
  EXPECT_EQ(made.metrics[0].second.item<double>(), loss);
}

TEST(Classify, LearnsWhatCanBeTold) {
  Dataset data = grey(60);
  const torch::Tensor labels =
      (data.train.select(1, 0) > data.train.select(1, 3)).to(torch::kInt64);
  const auto model = classifier();
  ClassifyObjective objective(*model, data, labels, {.batch = 60}, torch::kCPU);
  for (int64_t t = 1; t <= 300; ++t) {
    model->zero_grad();
    objective.loss(*model, objective.draw(*model, t)).value.backward();
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.sub_(p.grad(), 0.3);
  }
  const torch::Tensor guess = dynamic_cast<MlpModel&>(*model).logits(data.train).argmax(1);
  EXPECT_GT((guess == labels).to(torch::kFloat64).mean().item<double>(), 0.95);
}

TEST(Classify, WhatIsNoClassifierIsRefused) {
  const auto rbm = new_model("rbm", {.image_height = 2, .image_width = 2, .hidden = 3}, 1);
  const torch::Tensor labels = torch::zeros({5}, torch::kInt64);
  EXPECT_ERROR(ClassifyObjective(*rbm, grey(5), labels, {}, torch::kCPU), "is not a classifier");
}

TEST(Classify, StrokesAreOfTheirClasses) {
  const torch::Tensor labels = load_labels("strokes", "");
  const Dataset data = load_dataset("strokes", "");
  ASSERT_EQ(labels.size(0), data.train.size(0));
  // Most images are closest to the mean of their own class.
  const torch::Tensor images = data.train.slice(0, 0, 5000).to(torch::kFloat32);
  const torch::Tensor own = labels.slice(0, 0, 5000);
  std::vector<torch::Tensor> means;
  for (int64_t c = 0; c < 10; ++c) means.push_back(images.index({own == c}).mean(0));
  const torch::Tensor nearest = torch::cdist(images, torch::stack(means)).argmin(1);
  EXPECT_GT((nearest == own).to(torch::kFloat64).mean().item<double>(), 0.5);  // chance: 0.1
  EXPECT_ERROR(load_labels("static-mnist", ""), "the data sets with classes are: strokes, mnist");
}

TEST(Classify, PointsAreTheirLaws) {
  const torch::Tensor ring = load_points("ring-points", "").train.to(torch::kFloat64);
  const torch::Tensor angle = M_PI / 4 * torch::arange(8, torch::kFloat64);
  const torch::Tensor modes = 0.5 * torch::stack({angle.cos(), angle.sin()}, 1);
  const auto [distance, mode] = torch::cdist(ring, modes).min(1);
  const double n = static_cast<double>(ring.size(0));
  // E of the squared distance: 2 · .03², standard deviation the same.
  EXPECT_NEAR(distance.square().mean().item<double>(), 0.0018, 5 * 0.0018 / std::sqrt(n));
  const torch::Tensor counts = torch::bincount(mode).to(torch::kFloat64);
  EXPECT_LT((counts - n / 8).abs().max().item<double>(), 5 * std::sqrt(n * 7 / 64));
  const torch::Tensor strip = load_points("strip-points", "").train;
  EXPECT_LE(strip.select(1, 0).abs().max().item<double>(), 0.1);
  EXPECT_NEAR(strip.select(1, 1).mean().item<double>(), 0, 5 / std::sqrt(3 * n));
  EXPECT_ERROR(load_dataset("ring-points", ""), "points of the plane");
}

}  // namespace
}  // namespace isinglass::classify_test
