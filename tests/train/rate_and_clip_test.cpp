// Plans of the learning rate in whole training runs, and clipped gradients.
#include <gtest/gtest.h>

#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::rate_and_clip_test {
namespace {

// With another length, the schedule starts again at the present iteration.
TEST(PlanTest, AnotherLengthPlansFromTheIterationReached) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.schedule = RateSchedule::kCosine;
  options.end_rate = 1e-3;
  std::optional<Setting> setting;
  setting.emplace("rbm", options,
                  TrainHooks{.stop = [&] { return setting->trainer.iteration() == 14; }});
  setting->trainer.start(scratch / "run");
  EXPECT_TRUE(setting->trainer.run().interrupted);
  options.iterations = 34;
  {
    Setting part("rbm", options, {.stop = [count = 0]() mutable { return ++count == 3; }});
    part.trainer.resume(scratch / "run");
    EXPECT_TRUE(part.trainer.run().interrupted);
  }
  const auto plans = [&] {
    const std::string log = read_file(scratch / "run/log.txt");
    int64_t count = 0;
    for (size_t at = 0;
         (at = log.find("schedule of the learning rate starts again", at)) != std::string::npos;
         ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(plans(), 1);
  resume("rbm", scratch / "run", options);  // the plan stays
  EXPECT_EQ(plans(), 1);
  const auto metrics = metrics_of(scratch / "run");
  ASSERT_EQ(metrics.size(), 34u);
  LearningRate rate{
      .peak = 1e-2, .end = 1e-3, .warmup = 10, .schedule = RateSchedule::kCosine, .to = 20};
  for (int64_t t = 1; t <= 34; ++t) {
    if (t == 15) rate.from = 14, rate.to = 34;
    EXPECT_EQ(metrics[t - 1]["learning_rate"], rate.at(t)) << t;
  }
  const std::string log = read_file(scratch / "run/log.txt");
  const LearningRate first{
      .peak = 1e-2, .end = 1e-3, .warmup = 10, .schedule = RateSchedule::kCosine, .to = 20};
  EXPECT_NE(log.find(fmt::format(
                "the schedule of the learning rate starts again from iteration 14 and ends at 34 "
                "(cosine): the rate was {:.4g}, and it is {:.4g} in the next iteration",
                first.at(14), rate.at(15))),
            std::string::npos)
      << log;
}

// Collects the messages that the user should see at once.
struct Warnings : TrainObserver {
  std::vector<std::string> all;
  void on_warning(const std::string& message) override { all.push_back(message); }
};

TEST(PlanTest, WarnsOfAWarmUpThatTheRunDoesNotOutlast) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.iterations = 4;
  for (const int64_t warmup : {3, 4, 16}) {
    options.warmup = warmup;
    Warnings warnings;
    Setting setting("rbm", options, {.observer = &warnings});
    setting.trainer.start(scratch / fmt::format("run{}", warmup));
    setting.trainer.run();
    ASSERT_EQ(warnings.all.size(), warmup < 4 ? 0u : 1u) << warmup;
  }
  EXPECT_NE(read_file(scratch / "run16/log.txt")
                .find("the warm-up of the learning rate takes 16 iterations, but the run has 4, so "
                      "that the rate reaches 0.0025 of 0.01 at its end"),
            std::string::npos);
}

// If every gradient is scaled to one norm, as here, Adam uses only its direction.
TEST(ClipTest, ScalesGradientsToTheNorm) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.iterations = 1;
  const auto moments = [&](double clip) {
    const fs::path directory = scratch / fmt::format("clip{}", clip);
    options.clip = clip;
    train("rbm", directory, options);
    std::vector<torch::Tensor> all;
    for (const auto& [name, m] :
         read_checkpoint(directory / "checkpoints/00000001.pt").first_moments)
      all.push_back(m.flatten());
    return torch::cat(all).to(torch::kFloat64);
  };
  const torch::Tensor whole = moments(0);  // (1 − β₁)·gradient
  const double norm = metrics_of(scratch / "clip0")[0]["gradient_norm"];
  EXPECT_NEAR(whole.norm().item<double>(), 0.1 * norm, 1e-6 * norm);
  EXPECT_TRUE(torch::equal(moments(1.01 * norm), whole));
  const torch::Tensor clipped = moments(0.3 * norm);
  EXPECT_NEAR(clipped.norm().item<double>(), 0.03 * norm, 1e-6 * norm);
  EXPECT_TRUE(torch::allclose(clipped, 0.3 * whole, 1e-5, 0));
  EXPECT_EQ(metrics_of(scratch / fmt::format("clip{}", 0.3 * norm))[0]["gradient_norm"], norm);
}

}  // namespace
}  // namespace isinglass::rate_and_clip_test
