// A learning rate that the chains can follow, against the works of the chains.
#include "train/objectives/lag_control.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::lag_control_test {
namespace {

// (Σ exp(−w))² / (n Σ exp(−2w)), in plain loops.
double share_of(const std::vector<double>& works) {
  double sum = 0, squares = 0;
  for (const double w : works) {
    sum += std::exp(-w);
    squares += std::exp(-2 * w);
  }
  return sum * sum / (static_cast<double>(works.size()) * squares);
}

torch::Tensor reals(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

TEST(LagControl, TheShareIsThatOfTheWorksSinceTheChainsWereLeft) {
  LagControl lag(6, torch::kCPU);
  const double* address = lag.share().const_data_ptr<double>();
  const torch::Tensor slots = torch::tensor({4, 1, 5}, torch::kInt64);
  lag.measure(slots, reals({700, 2, 3}));  // no chain has an energy yet
  EXPECT_EQ(lag.share().item<double>(), 1);
  lag.keep(slots, reals({710, 20, 30}));
  lag.measure(torch::tensor({5, 4, 1}, torch::kInt64), reals({31, 710.5, 19.25}));
  EXPECT_NEAR(lag.share().item<double>(), share_of({1, 0.5, -0.75}), 1e-12);
  EXPECT_EQ(lag.pause().item<float>(), 0);
  // Chain 0 has no energy and does not count; a constant added to U changes nothing.
  lag.measure(torch::tensor({0, 4, 1}, torch::kInt64), reals({5, 1e4 + 710, 1e4 + 23}));
  EXPECT_NEAR(lag.share().item<double>(), share_of({0, 3}), 1e-12);
  lag.measure(torch::tensor({0, 4}, torch::kInt64), reals({5, 1}));  // only one counts
  EXPECT_EQ(lag.share().item<double>(), 1);
  lag.measure(slots, reals({700, 20, 90}));
  EXPECT_NEAR(lag.share().item<double>(), 1. / 3, 1e-3);
  EXPECT_EQ(lag.pause().item<float>(), 1);
  lag.forget();
  lag.measure(slots, reals({700, 20, 90}));
  EXPECT_EQ(lag.share().item<double>(), 1);
  EXPECT_EQ(lag.share().const_data_ptr<double>(), address);
}

TEST(LagControl, TheFactorFollowsTheShare) {
  LagControl lag(1, torch::kCPU);
  lag.follow(0.95);
  EXPECT_EQ(lag.factor(), 1);  // the planned rate is the largest
  lag.follow(0.6);
  EXPECT_DOUBLE_EQ(lag.factor(), 0.95);
  lag.follow(0.8);
  EXPECT_DOUBLE_EQ(lag.factor(), 0.95);
  lag.follow(0.91);
  EXPECT_DOUBLE_EQ(lag.factor(), 0.95 * 1.01);
  for (int i = 0; i < 1000; ++i) lag.follow(0.01);
  EXPECT_DOUBLE_EQ(lag.factor(), 1e-3);
}

// The metric of an iteration is the share of the works that a change of the parameters does on the
// chains since the iteration before.
TEST(LagControl, AnIterationMeasuresItsChains) {
  for (const char* name : {"pafs", "gibbs"}) {
    SCOPED_TRACE(name);
    const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
    SamplerOptions sampling;
    if (name == std::string("gibbs")) sampling.scan = Scan::kChromatic;
    const auto sampler = make_sampler(name, sampling, *model);
    PcdObjective objective(*model, *sampler, bars_and_stripes(3),
                           {.batch = 16, .buffer = 16, .steps = 3, .lag = true, .seed = 8}, 10,
                           torch::kCPU);
    const auto iteration = [&](int64_t t) {
      Batch batch = objective.draw(*model, t);
      const Loss loss = objective.loss(*model, batch);
      double share = -1;
      for (const auto& [metric, value] : loss.metrics) {
        if (metric == "lag_share") share = value.item<double>();
      }
      EXPECT_EQ(batch.pause.item<float>(), share < 0.5 ? 1 : 0);
      objective.keep(std::move(batch));
      return share;
    };
    EXPECT_EQ(iteration(1), 1);
    EXPECT_NEAR(iteration(2), 1, 1e-9);  // the parameters have not changed
    double least = 1;
    for (int64_t t = 3; t <= 5; ++t) {
      const torch::NoGradGuard no_grad;
      const torch::Tensor x = objective.chains().clone();
      const torch::Tensor before = model->energy(x).to(torch::kFloat64);
      for (torch::Tensor p : model->parameters()) p.mul_(3).add_(0.1 * torch::sin(p * 1e4));
      const torch::Tensor w = model->energy(x).to(torch::kFloat64) - before;
      const double expected =
          share_of({w.const_data_ptr<double>(), w.const_data_ptr<double>() + 16});
      EXPECT_NEAR(iteration(t), expected, 1e-4);
      least = std::min(least, expected);
    }
    EXPECT_LT(least, 0.9);
  }
}

// A paused iteration moves its chains and leaves the parameters as they are; the rate of the next
// ones is lower. A run that is resumed gives the same bits.
TEST(LagControl, TrainingPausesWhereItsChainsLagBehind) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.lag = true;
  options.pcd.reinit = 0;
  options.learning_rate = 0.5;
  options.warmup = 0;
  options.iterations = 60;
  Setting whole("rbm", options);
  whole.trainer.start(scratch / "whole");
  whole.trainer.run();
  const auto metrics = metrics_of(scratch / "whole");
  ASSERT_EQ(metrics.size(), 60u);
  int64_t paused = 0;
  double factor = 1;
  for (const auto& line : metrics) {
    EXPECT_DOUBLE_EQ(line["rate_factor"], factor);
    EXPECT_DOUBLE_EQ(line["learning_rate"], 0.5 * factor);
    const double share = line["lag_share"];
    paused += share < 0.5 ? 1 : 0;
    factor = std::min(1.0, factor * (share > 0.9 ? 1.01 : share < 0.7 ? 0.95 : 1));
    EXPECT_FALSE(line.contains("skipped"));
  }
  EXPECT_GT(paused, 5);
  EXPECT_LT(paused, 60);
  EXPECT_LT(factor, 0.5);

  Setting part("rbm", options, {.stop = [count = 0]() mutable { return ++count == 23; }});
  part.trainer.start(scratch / "part");
  EXPECT_TRUE(part.trainer.run().interrupted);
  resume("rbm", scratch / "part", options);
  EXPECT_EQ(read_file(scratch / "whole/ema.pt"), read_file(scratch / "part/ema.pt"));
}

TEST(LagControl, NeedsChainsThatPersist) {
  const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
  const auto sampler = make_sampler("gwg", {}, *model);
  const auto refused = [&](PcdOptions options) {
    options.batch = options.buffer = 4;
    options.lag = true;
    EXPECT_ERROR(
        PcdObjective(*model, *sampler, bars_and_stripes(3), options, 10, torch::kCPU),
        "lr-control lag follows chains that persist; objective cd, rungs, fresh and reinit");
  };
  refused({.from_data = true});
  refused({.reinit = 0.1});
  refused({.rungs = 2});
  refused({.fresh = 1});
}

TEST(StepsPerIteration, GrowOverTheLastFifth) {
  const PcdOptions same = {.steps = 7};
  for (const int64_t t : {1, 50, 100}) EXPECT_EQ(steps_at(same, t, 100), 7);
  const PcdOptions grow = {.steps = 10, .steps_end = 30};
  EXPECT_EQ(steps_at(grow, 1, 100), 10);
  EXPECT_EQ(steps_at(grow, 80, 100), 10);
  EXPECT_EQ(steps_at(grow, 85, 100), 15);
  EXPECT_EQ(steps_at(grow, 100, 100), 30);
  EXPECT_EQ(most_steps(grow), 30);
  EXPECT_EQ(most_steps(same), 7);

  // The chains make that many steps: random-scan Gibbs sampling draws one site a step.
  const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
  const auto sampler = make_sampler("gibbs", {}, *model);
  const torch::Tensor starts = all_states(9).narrow(0, 100, 20), slots = torch::arange(20);
  const auto moved = [&](const PcdOptions& options, int64_t iteration, int64_t iterations) {
    PcdSampling sampling(*sampler, options, torch::kCPU, iterations);
    return sampling.advance(*model, starts, slots, iteration).states.clone();
  };
  EXPECT_TRUE(torch::equal(moved({.steps = 4, .steps_end = 8}, 1, 1), moved({.steps = 8}, 1, 1)));
  EXPECT_FALSE(torch::equal(moved({.steps = 4, .steps_end = 8}, 1, 1), moved({.steps = 4}, 1, 1)));
}

}  // namespace
}  // namespace isinglass::lag_control_test
