// Missing values of training images: their samples have the exact conditional distribution of RBMs
// and other models, and are part of the training's state.
#include "train/objectives/missing_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"
#include "train/objectives/nce.h"

namespace isinglass::missing_values_test {
namespace {

// Makes a data set of `copies` copies of each row, in turn. Entries of −1 are missing.
Dataset incomplete(const torch::Tensor& rows, int64_t copies, int64_t values = 2) {
  const torch::Tensor all = rows.repeat({copies, 1});
  Dataset data;
  data.name = "incomplete";
  data.train = all.clamp_min(0).to(torch::kUInt8);
  data.missing = all < 0;
  data.height = 1;
  data.width = rows.size(1);
  data.validation = data.test = data.train.narrow(0, 0, 0);
  if (values > 2) {
    data.values = PixelValues::kCategorical;
    data.categories = values;
  }
  return data;
}

std::shared_ptr<EnergyModel> random_rbm(int64_t sites, int64_t hidden, int64_t values = 2) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(7);
  const auto normal = [&](std::vector<int64_t> shape) { return torch::randn(shape, generator); };
  if (values == 2) {
    return std::make_shared<RbmModel>(1.5 * normal({hidden, sites}), normal({sites}),
                                      normal({hidden}));
  }
  return std::make_shared<RbmModel>(normal({hidden, sites, values}), normal({sites, values}),
                                    normal({hidden}));
}

// Fills in the copies of every row, which are independent chains, and compares each state's
// frequency among the copies with its probability given the known values.
void expect_conditional(EnergyModel& model, const torch::Tensor& rows, const std::string& what) {
  constexpr int64_t kCopies = 2000, kVisits = 12, kSteps = 4;
  const int64_t values = model.space().categories, count = rows.size(0);
  const Dataset data = incomplete(rows, kCopies, values);
  const Dataset drawn = with_drawn_values(data, 3);
  MissingValues missing(data, drawn, kSteps, 3, torch::kCPU);
  const torch::Tensor images = torch::arange(count * kCopies);
  torch::Tensor x;
  for (int64_t t = 1; t <= kVisits; ++t) x = missing.fill(model, images, data.train, t);
  EXPECT_TRUE(torch::equal(x.masked_fill(data.missing, 0), data.train)) << what;
  const torch::Tensor states = all_states(rows.size(1), values);
  torch::NoGradGuard no_grad;
  const torch::Tensor energy = model.energy(states).to(torch::kFloat64);
  const torch::Tensor copies = x.view({kCopies, count, -1});
  for (int64_t r = 0; r < count; ++r) {
    const torch::Tensor agree = ((rows[r] < 0) | (states == rows[r])).all(1);
    const torch::Tensor p =
        torch::softmax((-energy).masked_fill(agree.logical_not(), -INFINITY), 0);
    for (int64_t s = 0; s < states.size(0); ++s) {
      const double expected = p[s].item<double>();
      const double found =
          (copies.select(1, r) == states[s]).all(1).to(torch::kFloat64).mean().item<double>();
      const double error = std::sqrt(expected * (1 - expected) / kCopies);
      EXPECT_NEAR(found, expected, 5 * error + 1e-12) << what << ", row " << r << ", state " << s;
    }
  }
}

TEST(MissingValuesTest, HaveTheConditionalDistribution) {
  const torch::Tensor rows =
      torch::tensor({{1, -1, 0, -1}, {-1, 0, 1, 1}, {0, 1, 1, 0}, {-1, -1, -1, -1}});
  expect_conditional(*random_rbm(4, 3), rows, "rbm");
  SineModel sine(4);
  expect_conditional(sine, rows, "network");
  const torch::Tensor values = torch::tensor({{2, -1, -1}, {-1, 0, 1}});
  expect_conditional(*random_rbm(3, 2, 3), values, "categorical rbm");
}

// The gradient of the loss at the data is that of the known values' likelihood: its mean over
// independent chains lies within five standard errors of the enumerated expectation.
TEST(MissingValuesTest, GiveTheGradientOfTheKnownValues) {
  constexpr int64_t kCopies = 2000, kSteps = 5;
  const auto model = random_rbm(5, 3);
  const torch::Tensor rows = torch::tensor({{1, -1, 0, -1, 1}, {-1, 0, -1, -1, 0}});
  const Dataset data = incomplete(rows, kCopies);
  const auto sampler = make_sampler("gwg", {}, *model);
  const PcdOptions options = {.batch = 2 * kCopies, .buffer = 2 * kCopies, .steps = kSteps};
  PcdObjective objective(*model, *sampler, data, options, 100, torch::kCPU);
  torch::Tensor x;
  for (int64_t t = 1; t <= 8; ++t) x = objective.draw(*model, t).data;
  const torch::Tensor states = all_states(5);
  torch::Tensor p = torch::zeros({states.size(0)}, torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    const torch::Tensor energy = model->energy(states).to(torch::kFloat64);
    for (int64_t r = 0; r < rows.size(0); ++r) {
      const torch::Tensor agree = ((rows[r] < 0) | (states == rows[r])).all(1);
      p += torch::softmax((-energy).masked_fill(agree.logical_not(), -INFINITY), 0) / 2;
    }
  }
  // ∂U/∂W = −E[h | v] vᵀ, ∂U/∂b_v = −v and ∂U/∂b_h = −E[h | v].
  const auto statistics = [&](const torch::Tensor& v) {
    torch::NoGradGuard no_grad;
    const torch::Tensor h = dynamic_cast<RbmModel&>(*model).hidden_means(v).to(torch::kFloat64);
    const torch::Tensor on = v.to(torch::kFloat64);
    return torch::cat({(h.unsqueeze(2) * on.unsqueeze(1)).flatten(1), on, h}, 1);
  };
  const torch::Tensor of_data = statistics(x), expected = p.matmul(statistics(states));
  const torch::Tensor error = of_data.std(0) / std::sqrt(2.0 * kCopies);
  EXPECT_TRUE(((of_data.mean(0) - expected).abs() <= 5 * error + 1e-7).all().item<bool>())
      << (of_data.mean(0) - expected) / error;
}

TEST(MissingValuesTest, StartAtDrawsOfIndependentPixels) {
  const torch::Tensor rows = torch::tensor({{1, -1}, {1, 0}, {1, 0}, {-1, 1}, {-1, 0}});
  const Dataset data = incomplete(rows, 1000);
  const torch::Tensor mean = clamped_mean(data);
  EXPECT_NEAR(mean[0].item<double>(), 0.99, 1e-6);
  EXPECT_NEAR(mean[1].item<double>(), 0.98 * 0.25 + 0.01, 1e-6);
  const Dataset drawn = with_drawn_values(data, 1);
  EXPECT_FALSE(drawn.missing.defined());
  EXPECT_TRUE(torch::equal(drawn.train.masked_fill(data.missing, 0), data.train));
  const torch::Tensor of_second =
      drawn.train.select(1, 1).masked_select(data.missing.select(1, 1)).to(torch::kFloat64);
  EXPECT_NEAR(of_second.mean().item<double>(), 0.255, 5 * std::sqrt(0.255 * 0.745 / 1000));
  Dataset other = data;
  other.missing = torch::zeros_like(data.missing);
  EXPECT_NE(data_sha256(data), data_sha256(other));
}

TEST(MissingValuesTest, APixelWithoutKnownValuesIsUniform) {
  Dataset data = incomplete(torch::tensor({{-1, 2, 0}, {-1, 2, -1}}), 1, 3);
  const torch::Tensor frequencies = clamped_mean(data);
  EXPECT_TRUE(torch::allclose(frequencies[0], torch::full({3}, 1 / 3.0, torch::kFloat64)));
  EXPECT_NEAR(frequencies[1][2].item<double>(), 0.98 + 0.02 / 3, 1e-12);
  EXPECT_NEAR(frequencies[2][0].item<double>(), 0.98 + 0.02 / 3, 1e-12);
}

// A third of the values of every data set of the fixture is missing.
Dataset with_holes(Dataset data) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(8);
  data.missing = torch::rand(data.train.sizes(), generator) < 1.0 / 3;
  data.train = data.train.masked_fill(data.missing, 0);
  return data;
}

std::unique_ptr<Trainer> trainer_of(const std::shared_ptr<EnergyModel>& model, const Sampler& by,
                                    const Dataset& data, const PcdRun& options) {
  return std::make_unique<Trainer>(model,
                                   std::make_unique<PcdObjective>(*model, by, data, options.pcd,
                                                                  options.iterations, torch::kCPU),
                                   options);
}

TEST(MissingValuesTest, AResumedRunGivesTheSameBits) {
  for (const std::string name : {"rbm", "categorical_resnet"}) {
    const Scratch scratch;
    PcdRun options = small_options();
    const Dataset data =
        with_holes(is_categorical(name) ? categorical_images(10, 8, 8, 5) : grey_images(10, 8));
    const auto run = [&](const fs::path& directory, int64_t iterations, bool resumed) {
      options.iterations = iterations;
      const auto model = fresh_model(name, data);
      const auto sampler = make_sampler("pafs", {.radius = 2}, *model);
      const auto trainer = trainer_of(model, *sampler, data, options);
      resumed ? trainer->resume(directory) : trainer->start(directory);
      EXPECT_FALSE(trainer->run().interrupted);
    };
    run(scratch / "whole", 10, false);
    run(scratch / "parts", 4, false);
    run(scratch / "parts", 10, true);
    const auto newest = [](const fs::path& directory) {
      return RunDirectory::open(directory).checkpoints().back();
    };
    expect_same_state(newest(scratch / "whole"), newest(scratch / "parts"));
    const Checkpoint saved = read_checkpoint(newest(scratch / "whole"));
    EXPECT_EQ(saved.carried.at(0).first, "missing");
    EXPECT_EQ(saved.carried.at(0).second.numel(), data.missing.sum().item<int64_t>());
  }
}

// Returns images [N, side²] whose rows are each black or white, and white with probability 0.3.
torch::Tensor striped_images(int64_t count, int64_t side, uint64_t seed) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  const torch::Tensor white = torch::rand({count, side, 1}, generator) < 0.3;
  return white.expand({count, side, side}).reshape({count, side * side}).to(torch::kUInt8);
}

// Trains a new model and returns the exact mean log-likelihood of test images [nats per image].
double trained_log_likelihood(const std::string& name, const SamplerOptions& steps, int64_t side,
                              const torch::Tensor& missing, bool as_zeros) {
  Dataset data = bars_and_stripes(side);  // for the form of its images
  data.train = striped_images(1500, side, 1);
  if (missing.defined()) data.train = data.train.masked_fill(missing, 0);
  if (missing.defined() && !as_zeros) data.missing = missing;
  const auto model =
      new_model(name, {.image_height = side, .image_width = side, .hidden = 16}, /*seed=*/5);
  const auto sampler = make_sampler(name == "rbm" ? "gibbs" : "pafs", steps, *model);
  PcdRun options;
  options.pcd = {.batch = 100, .buffer = 200, .steps = 3, .seed = 2};
  options.iterations = 800;
  options.learning_rate = name == "rbm" ? 2e-2 : 3e-3;
  options.warmup = 0;
  options.pcd.l2 = name == "rbm" ? 0 : 1e-2;
  options.schedule = RateSchedule::kCosine;
  const auto trainer = trainer_of(model, *sampler, data, options);
  while (trainer->iteration() < options.iterations) trainer->iterate();
  torch::NoGradGuard no_grad;
  const auto energy = [&](const torch::Tensor& x) { return model->energy(x).to(torch::kFloat64); };
  return (-energy(striped_images(1000, side, 2)).mean() -
          torch::logsumexp(-energy(all_states(side * side)), 0))
      .item<double>();
}

// 30 % of the training values are missing. Their rows show what they are, so that little is lost,
// in contrast to zeros in their place.
TEST(MissingValuesTest, TrainingWithThemLosesLittle) {
  for (const std::string name : {"rbm", "mlp"}) {
    const int64_t side = name == "rbm" ? 4 : 3;
    const SamplerOptions steps =
        name == "rbm" ? SamplerOptions{.scan = Scan::kChromatic} : SamplerOptions{.radius = 2};
    torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(3);
    const torch::Tensor missing = torch::rand({1500, side * side}, generator) < 0.3;
    const double complete = trained_log_likelihood(name, steps, side, {}, false),
                 sampled = trained_log_likelihood(name, steps, side, missing, false);
    EXPECT_GT(sampled, complete - 0.5) << name << ": " << complete;
    if (name != "rbm") continue;
    EXPECT_LT(trained_log_likelihood(name, steps, side, missing, true), sampled - 0.5);
  }
}

TEST(MissingValuesTest, AreRefusedWhereTheyCannotBeSampled) {
  const Dataset data = with_holes(bars_and_stripes(3));
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  Meeting meeting(2);
  const RankOfThreads ranks(meeting, 0);
  const PcdOptions options = {.batch = 4, .buffer = 8};
  EXPECT_ERROR(PcdObjective(model, *sampler, data, options, 10, torch::kCPU, ranks),
               "require a single process, but there are 2 ranks");
  EXPECT_ERROR(as_points(data), "needs complete images, but");
  EXPECT_ERROR(require_complete(data, "a test"), "are missing (NaN)");
}

}  // namespace
}  // namespace isinglass::missing_values_test
