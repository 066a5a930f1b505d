// Persistent contrastive divergence on continuous states: its gradient, what it learns within
// bounds, its buffer, and runs that resume bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/checkpoint.h"
#include "train/objectives/pcd_objective.h"
#include "train/trainer.h"

namespace isinglass::points_test {
namespace {

constexpr Bounds kBox{-0.5, 1.5};

// U(x) = Σ_i (a_i x_i + b_i x_i²): within bounds, every a and b is a distribution, of independent
// sites. Its likelihood is greatest where E x and E x² are those of the data.
class QuadraticSites : public EnergyModel {
 public:
  explicit QuadraticSites(int64_t sites) {
    a = register_parameter("a", torch::zeros({sites}));
    b = register_parameter("b", torch::zeros({sites}));
  }

  std::string kind_name() const override { return "quadratic-sites"; }
  StateSpace space() const override { return {StateKind::kContinuous, a.size(0)}; }
  torch::Tensor energy(const torch::Tensor& x) override { return (a * x + b * x * x).sum(1); }

  torch::Tensor a, b;
};

// Points whose coordinates have these energies in the box, by the inverse of the distribution
// function on a fine grid.
Dataset points(int64_t count, const Bounds& box, const torch::Tensor& a, const torch::Tensor& b) {
  torch::manual_seed(6);
  constexpr int64_t kCells = 20000;
  const torch::Tensor cell = torch::arange(kCells, torch::kFloat64) + 0.5;
  const torch::Tensor x = box.low + (box.high - box.low) * cell / kCells;
  std::vector<torch::Tensor> columns;
  for (int64_t i = 0; i < a.size(0); ++i) {
    const torch::Tensor p = (-(a[i] * x + b[i] * x * x)).softmax(0);
    columns.push_back(x.index_select(0, torch::multinomial(p, count, /*replacement=*/true)));
  }
  Dataset data;
  data.name = "points";
  data.train = torch::stack(columns, 1).to(torch::kFloat32);
  data.height = 1;
  data.width = a.size(0);
  data.values = PixelValues::kReal;
  return data;
}

Dataset some_points(int64_t count, const Bounds& box = kBox) {
  const torch::Tensor a = torch::tensor({-2.0, 1.0}, torch::kFloat64);
  const torch::Tensor b = torch::tensor({4.0, -1.0}, torch::kFloat64);
  return points(count, box, a, b);
}

// E x and E x² of every site in the box, [2, D], by quadrature.
torch::Tensor moments(const QuadraticSites& model) {
  constexpr int64_t kCells = 20000;
  const torch::Tensor cell = torch::arange(kCells, torch::kFloat64) + 0.5;
  const torch::Tensor x =
      (kBox.low + (kBox.high - kBox.low) * cell / kCells).unsqueeze(1);  // [cells, 1]
  const torch::Tensor u = model.a.detach() * x + model.b.detach() * x * x;
  const torch::Tensor p = (-u.to(torch::kFloat64)).softmax(0);
  return torch::stack({(p * x).sum(0), (p * x * x).sum(0)});
}

torch::Tensor moments(const torch::Tensor& states) {
  const torch::Tensor x = states.to(torch::kFloat64);
  return torch::stack({x.mean(0), x.square().mean(0)});
}

TrainOptions training(int64_t iterations) {
  TrainOptions options;
  options.iterations = iterations;
  options.learning_rate = 0.03;
  options.warmup = 5;
  options.ema = 0.98;
  options.checkpoint_every = 10;
  return options;
}

std::shared_ptr<QuadraticSites> train(const Dataset& data, const PcdOptions& pcd,
                                      const TrainOptions& options,
                                      const std::filesystem::path& directory,
                                      bool resumed = false) {
  const auto model = std::make_shared<QuadraticSites>(data.train.size(1));
  const auto sampler = make_sampler("mala", {.step_size = 0.5}, *model);
  Trainer trainer(
      model,
      std::make_unique<PcdObjective>(*model, *sampler, data, pcd, options.iterations, torch::kCPU),
      options);
  resumed ? trainer.resume(directory) : trainer.start(directory);
  trainer.run();
  NamedTensors averages = read_named_tensors(directory / "ema.pt");
  const torch::NoGradGuard no_grad;
  model->a.copy_(averages.at(0).second);
  model->b.copy_(averages.at(1).second);
  return model;
}

// ∂L/∂a = E_data x − E_chains x, and ∂L/∂b the same of x².
TEST(PointsPcd, GradientIsADifferenceOfExpectations) {
  torch::manual_seed(1);
  QuadraticSites model(3);
  const torch::Tensor data = torch::randn({7, 3}), chains = torch::randn({11, 3});
  const PcdLoss loss = pcd_loss(model, data, chains, {});
  const auto found = torch::autograd::grad({loss.loss}, {model.a, model.b});
  const torch::Tensor expected = moments(data) - moments(chains);
  EXPECT_TRUE(torch::allclose(torch::stack({found[0], found[1]}).to(torch::kFloat64), expected,
                              1e-5, 1e-6));
}

// The average over the last fifty iterations or so sees 200 chains in each. Chains are visited
// every fifth iteration and make six steps in it, so that visits count as independent. Half of the
// states are data, drawn from a set that is seen as a whole in ten iterations.
TEST(PointsPcd, LearnsADistributionWithinBounds) {
  const Scratch scratch;
  const Dataset data = some_points(2000);
  const auto model =
      train(data, {.batch = 200, .buffer = 1000, .steps = 6, .bounds = kBox, .seed = 4},
            training(500), scratch / "run");
  const torch::Tensor wanted = moments(data.train);
  const torch::Tensor x = data.train.to(torch::kFloat64);
  const torch::Tensor sd = torch::stack({x.std(0), x.square().std(0)});
  const torch::Tensor errors = (moments(*model) - wanted) / (sd / std::sqrt(50 * 200));
  EXPECT_LT(errors.abs().max().item<double>(), 5) << errors;
  const torch::Tensor flat = moments(QuadraticSites(2));
  EXPECT_GT(((flat - wanted) / (sd / std::sqrt(50 * 200))).abs().max().item<double>(), 20);
  // So are the chains.
  const Checkpoint last = read_checkpoint(scratch / "run/checkpoints/00000500.pt");
  EXPECT_NO_THROW(require_within(kBox, last.buffer, "the chains"));
  EXPECT_EQ(last.buffer.sizes(), (std::vector<int64_t>{1000, 2}));
  EXPECT_LT(((moments(last.buffer) - wanted) / (sd / std::sqrt(1000))).abs().max().item<double>(),
            6);
}

TEST(PointsPcd, ARunThatGoesOnIsAnUnbrokenOne) {
  const Scratch scratch;
  const Dataset data = some_points(50);
  const PcdOptions pcd{.batch = 16,
                       .buffer = 40,
                       .steps = 2,
                       .reinit = 0.3,
                       .rungs = 2,
                       .fresh = 2,
                       .fresh_iterations = 4,
                       .bounds = kBox,
                       .data_noise = 0.1,
                       .seed = 3};
  train(data, pcd, training(24), scratch / "whole");
  train(data, pcd, training(13), scratch / "part");
  train(data, pcd, training(24), scratch / "part", /*resumed=*/true);
  const auto last = [&](const char* run) {
    return read_checkpoint(scratch / run / "checkpoints/00000024.pt");
  };
  const Checkpoint whole = last("whole"), part = last("part");
  EXPECT_TRUE(torch::equal(whole.buffer, part.buffer));
  for (const auto& [one, other] :
       {std::pair{&whole.parameters, &part.parameters}, std::pair{&whole.carried, &part.carried}}) {
    ASSERT_EQ(one->size(), other->size());
    for (size_t i = 0; i < one->size(); ++i) {
      EXPECT_TRUE(torch::equal(one->at(i).second, other->at(i).second)) << one->at(i).first;
    }
  }
  PcdOptions wider = pcd;
  wider.bounds->high = 2;
  EXPECT_ERROR(train(data, wider, training(30), scratch / "part", true),
               "high = 1.5; this one has 2");
}

// Contrastive divergence starts at the data, with their noise.
TEST(PointsPcd, ChainsOfContrastiveDivergenceStartAtTheData) {
  QuadraticSites model(2);
  const auto sampler = make_sampler("ula", {.step_size = 1e-9}, model);
  const Dataset data = some_points(60);
  for (const double noise : {0.0, 0.2}) {
    PcdObjective objective(model, *sampler, data,
                           {.batch = 30,
                            .buffer = 30,
                            .steps = 1,
                            .from_data = true,
                            .bounds = kBox,
                            .data_noise = noise,
                            .seed = 1},
                           10, torch::kCPU);
    const Batch batch = objective.draw(model, 1);
    EXPECT_LT((batch.chains - batch.data).abs().max().item<double>(), 1e-6);
    EXPECT_NO_THROW(require_within(kBox, batch.data, "the data"));
    const torch::Tensor distance =
        (batch.data.unsqueeze(1) - data.train.unsqueeze(0)).abs().amax(2).amin(1);
    EXPECT_EQ(distance.max().item<double>() > 0.01, noise > 0);
  }
}

// Buffers start where they restart: uniformly within bounds, or as independent normal coordinates
// with the moments of the data. The share of restarts is binomial.
TEST(PointsPcd, ChainsStartAndRestartAtTheBase) {
  constexpr int64_t kSize = 4000;
  const BaseDistribution uniform = BaseDistribution::uniform(3, kBox, torch::kCPU);
  const torch::Tensor mean = torch::tensor({1.0, -2.0, 0.5});
  const torch::Tensor deviation = torch::tensor({0.5, 2.0, 1.0});
  const BaseDistribution normal = BaseDistribution::normal(mean, deviation);
  for (const bool within : {true, false}) {
    ReplayBuffer buffer(within ? uniform : normal, kSize, 7);
    const torch::Tensor m = within ? torch::full({3}, 0.5) : mean;
    const torch::Tensor s = within ? torch::full({3}, 2 / std::sqrt(12.0)) : deviation;
    const auto errors = [&](const torch::Tensor& x) {
      const torch::Tensor z = (x - m) / s;
      const double n = std::sqrt(static_cast<double>(x.size(0)));
      return std::max(n * z.mean(0).abs().max().item<double>(),
                      n / std::sqrt(2) * (z.var(0) - 1).abs().max().item<double>());
    };
    EXPECT_LT(errors(buffer.states()), 4);
    const torch::Tensor slots = torch::arange(kSize), before = buffer.states().clone();
    const torch::Tensor after = buffer.chains(slots, 0.05, 3);
    const torch::Tensor moved = (after != before).any(1);
    const auto restarts = moved.sum().item<double>();
    EXPECT_NEAR(restarts, 0.05 * kSize, 4 * std::sqrt(0.05 * 0.95 * kSize));
    EXPECT_LT(errors(after.index({moved})), 4);
    EXPECT_TRUE(torch::equal(buffer.chains(slots, 0, 3), before));
  }
}

TEST(PointsPcd, RefusesWhatDoesNotFit) {
  QuadraticSites model(2);
  SineModel binary(9);
  const auto sampler = make_sampler("mala", {}, model);
  const auto flips = make_sampler("gwg", {}, binary);
  const auto objective = [&](EnergyModel& of, const Dataset& on, PcdOptions options) {
    options.batch = options.buffer = 4;
    PcdObjective(of, of.space().discrete() ? *flips : *sampler, on, options, 10, torch::kCPU);
  };
  const Dataset data = some_points(20), images = bars_and_stripes(3);
  EXPECT_NO_THROW(objective(model, data, {}));
  EXPECT_ERROR(objective(model, data, {.bounds = Bounds{-0.5, 0}}),
               "the data of 'points' hold the value");
  EXPECT_ERROR(objective(model, images, {}), "needs a model of binary states");
  EXPECT_ERROR(objective(binary, data, {}), "needs a model of continuous states");
  EXPECT_ERROR(objective(binary, images, {.data_noise = 0.1}), "data-noise is added to continuous");
  EXPECT_ERROR(objective(binary, images, {.bounds = kBox}), "bounds are those of continuous");
  EXPECT_ERROR(objective(model, data, {.rungs = 1}), "rungs needs bounds");
  EXPECT_ERROR(objective(model, data, {.fresh = 1}), "fresh needs bounds");
  EXPECT_ERROR(objective(model, data, {.data_noise = -1}), "data-noise is -1");
}

}  // namespace
}  // namespace isinglass::points_test
