// Denoising score matching: its loss, the score that it learns, and runs that resume bit for bit.
#include "train/objectives/dsm.h"

#include <gtest/gtest.h>

#include "models/density/gaussian.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/trainer.h"

namespace isinglass::dsm_test {
namespace {

Dataset points(int64_t count) {
  torch::manual_seed(6);
  Dataset data;
  data.name = "points";
  data.train = torch::randn({count, 2}) * torch::tensor({0.5f, 0.8f}) + 1;
  data.height = 1;
  data.width = 2;
  return data;
}

// ∇U = P (x − m): L = mean ‖ε/σ − P (x + σε − m)‖², by plain loops.
TEST(DsmLoss, IsItsFormula) {
  torch::manual_seed(2);
  const torch::Tensor mean = torch::randn({3}), p = 0.5 + torch::rand({3});
  GaussianModel model(mean, p);
  const torch::Tensor x = torch::randn({7, 3}), noise = torch::randn({7, 3});
  const double sigma = 0.3;
  double expected = 0;
  for (int64_t b = 0; b < 7; ++b) {
    for (int64_t i = 0; i < 3; ++i) {
      const double e = noise[b][i].item<double>();
      const double at = x[b][i].item<double>() + sigma * e - mean[i].item<double>();
      expected += std::pow(e / sigma - p[i].item<double>() * at, 2) / 7;
    }
  }
  EXPECT_NEAR(dsm_loss(model, x, noise, sigma).item<double>(), expected, 1e-5 * expected);
}

// The gradient in the parameters is compared with central differences in double precision.
TEST(DsmLoss, IsDifferentiableInTheParameters) {
  const auto model = new_model("mlp", {.image_height = 1, .image_width = 3, .continuous = true}, 3);
  model->to(torch::kFloat64);
  torch::manual_seed(4);
  const torch::Tensor x = torch::randn({5, 3}, torch::kFloat64);
  const torch::Tensor noise = torch::randn({5, 3}, torch::kFloat64);
  const auto loss = [&] { return dsm_loss(*model, x, noise, 0.2); };
  const std::vector<torch::Tensor> parameters = model->parameters();
  const auto grads = torch::autograd::grad({loss()}, parameters, {}, {}, false, true);
  for (size_t i = 0; i < parameters.size(); ++i) {
    torch::NoGradGuard no_grad;
    const torch::Tensor direction = torch::randn_like(parameters[i]);
    const double step = 1e-6;
    parameters[i].add_(direction, step);
    const double above = loss().item<double>();
    parameters[i].add_(direction, -2 * step);
    const double below = loss().item<double>();
    parameters[i].add_(direction, step);
    const double found = grads[i].defined() ? (grads[i] * direction).sum().item<double>() : 0;
    EXPECT_NEAR(found, (above - below) / (2 * step), 1e-4 * std::max(1.0, std::abs(found))) << i;
  }
}

TrainOptions small_options(int64_t iterations) {
  TrainOptions options;
  options.iterations = iterations;
  options.learning_rate = 2e-3;
  options.warmup = 5;
  options.ema = 0.9;
  options.checkpoint_every = 10;
  return options;
}

std::shared_ptr<EnergyModel> train(const Dataset& data, const DsmOptions& dsm,
                                   const TrainOptions& options,
                                   const std::filesystem::path& directory, bool resumed = false) {
  const auto model = new_model(
      "mlp", {.image_height = data.height, .image_width = data.width, .continuous = true}, 4);
  Trainer trainer(model, std::make_unique<DsmObjective>(*model, data, dsm, torch::kCPU), options);
  resumed ? trainer.resume(directory) : trainer.start(directory);
  trainer.run();
  return model;
}

// The minimum's score is that of N(1, diag(0.25, 0.64) + σ²): within the error that some hundred
// iterations leave, a tenth of the scores' own size.
TEST(Dsm, LearnsTheScoreOfTheSmoothedData) {
  const Scratch scratch;
  const double sigma = 0.5;
  const auto model = train(points(4000), {.batch = 200, .noise = sigma, .seed = 1},
                           small_options(400), scratch / "run");
  const torch::Tensor variance = torch::tensor({0.25f, 0.64f}) + sigma * sigma;
  torch::manual_seed(8);
  const torch::Tensor x = torch::randn({500, 2}) * variance.sqrt() + 1;
  const torch::Tensor exact = (x - 1) / variance;
  const torch::Tensor error = model->energy_and_grad(x).gradient - exact;
  EXPECT_LT(error.square().mean().sqrt().item<double>(),
            0.15 * exact.square().mean().sqrt().item<double>());
}

TEST(Dsm, ARunThatGoesOnIsAnUnbrokenOne) {
  const Scratch scratch;
  const Dataset data = points(50);
  const DsmOptions dsm{.batch = 16, .noise = 0.2, .seed = 3};
  train(data, dsm, small_options(24), scratch / "whole");
  train(data, dsm, small_options(13), scratch / "part");
  train(data, dsm, small_options(24), scratch / "part", /*resumed=*/true);
  const auto file = [&](const char* run, const char* name) {
    return read_named_tensors(scratch / run / name);
  };
  for (const char* name : {"weights.pt", "ema.pt"}) {
    const NamedTensors whole = file("whole", name), part = file("part", name);
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(torch::equal(whole[i].second, part[i].second)) << whole[i].first;
    }
  }
  EXPECT_ERROR(train(data, {.batch = 16, .noise = 0.3, .seed = 3}, small_options(30),
                     scratch / "part", true),
               "noise = 0.2; this one has 0.3");
}

TEST(Dsm, DrawsImagesAndNoPoints) {
  const Scratch scratch;
  Dataset images = grey_images(20, 4);
  images.train = images.train.to(torch::kFloat32) / 255;
  images.values = PixelValues::kReal;
  train(images, {.batch = 8}, small_options(10), scratch / "images");
  train(points(20), {.batch = 8}, small_options(10), scratch / "points");
  EXPECT_TRUE(std::filesystem::exists(scratch / "images" / "data.png"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "images" / "samples" / "00000010.png"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "points" / "data.png"));
}

// A user's own images of real values [N, H, W]: grey levels of an image of that size.
TEST(Dsm, TrainsOnOwnImagesOfRealValues) {
  const Scratch scratch;
  const torch::Tensor images = torch::arange(20 * 3 * 4).view({20, 3, 4}).to(torch::kFloat32) / 239;
  write_pt(scratch / "own.pt", PtValue{images});
  const Dataset data = load_points(scratch / "own.pt", "unused");
  EXPECT_EQ(data.train.scalar_type(), torch::kFloat32);
  EXPECT_EQ(data.train.sizes(), (std::vector<int64_t>{16, 12}));  // a fifth of 20 is held out
  EXPECT_EQ(data.height, 3);
  EXPECT_EQ(data.width, 4);
  EXPECT_EQ(data.values, PixelValues::kReal);
  // Each row is an image of the file, to half a grey level.
  for (int64_t n = 0; n < 16; ++n) {
    const torch::Tensor distance = (images.flatten(1) - data.train[n]).abs().amax(1);
    EXPECT_LE(distance.min().item<double>(), 0.5 / 255 + 1e-6);
  }
  train(data, {.batch = 8}, small_options(10), scratch / "run");
  EXPECT_TRUE(std::filesystem::exists(scratch / "run/samples/00000010.png"));
  write_pt(scratch / "own.pt", PtValue{images + 1});
  EXPECT_ERROR(load_points(scratch / "own.pt", "unused"), "outside [0, 1]");
}

TEST(Dsm, RefusesWhatDoesNotFit) {
  const auto model = new_model("mlp", {.image_height = 1, .image_width = 2, .continuous = true}, 1);
  const auto binary = new_model("mlp", {.image_height = 1, .image_width = 2}, 1);
  const Dataset data = points(9);
  const auto objective = [&](EnergyModel& of, const DsmOptions& options, const Dataset& on) {
    DsmObjective(of, on, options, torch::kCPU);
  };
  EXPECT_ERROR(objective(*model, {.noise = 0}, data), "noise is 0");
  EXPECT_ERROR(objective(*model, {.batch = 0}, data), "batch is 0");
  EXPECT_ERROR(objective(*binary, {}, data), "continuous states");
  EXPECT_ERROR(objective(*model, {}, grey_images(3, 2)), "the model has 2 sites");
  EXPECT_ERROR(new_model("rbm", {.continuous = true}, 1), "no continuous states");
}

}  // namespace
}  // namespace isinglass::dsm_test
