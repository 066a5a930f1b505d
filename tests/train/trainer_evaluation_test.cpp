// Evaluations between the iterations of a training run: scores, the best parameters, clocks.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::trainer_evaluation_test {
namespace {

TEST(TrainerEvaluation, KeepsTheBestParameters) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.evaluate_every = 5;
  options.checkpoint_every = 5;
  // The best score is at iteration 10; the better one at 15 has a warning and does not count.
  const ValidationScore scores[] = {{-4, 50}, {-2, 40}, {-1, 3, "few weights"}, {-2.5, 60}};
  int64_t calls = 0;
  std::vector<NamedTensors> averages;
  const auto score = [&](EnergyModel& model) {
    NamedTensors tensors;
    for (const auto& p : model.named_parameters()) {
      tensors.emplace_back(p.key(), p.value().detach().clone());
    }
    averages.push_back(tensors);
    return scores[calls++];
  };
  PcdRun half = options;
  half.iterations = 13;
  Setting setting("rbm", half, {.validation_score = score});
  setting.trainer.start(scratch / "run");
  setting.trainer.run();
  Setting rest("rbm", options, {.validation_score = score});
  rest.trainer.resume(scratch / "run");
  rest.trainer.run();
  ASSERT_EQ(calls, 4);
  expect_equal(averages[1], read_named_tensors(scratch / "run/best.pt"), "best.pt");
  expect_equal(averages[3], read_named_tensors(scratch / "run/ema.pt"), "ema.pt");
  const auto metrics = metrics_of(scratch / "run");
  EXPECT_EQ(metrics[9]["validation_score"], -2);
  EXPECT_EQ(metrics[14]["validation_weight_ess"], 3);
  EXPECT_FALSE(metrics[8].contains("validation_score"));
  const std::string log = read_file(scratch / "run/log.txt");
  EXPECT_NE(log.find("iteration 15: validation score -1.0000 (open: forward "
                     "annealing alone), ESS of the weights 3.0; it cannot "
                     "become the best: few weights"),
            std::string::npos)
      << log;

  // An evaluation does not change the course of the run.
  train("rbm", scratch / "plain", small_options());
  expect_same_state(scratch / "plain/checkpoints/00000020.pt",
                    scratch / "run/checkpoints/00000020.pt");
}

// Diverged parameters show in annealed chains before the training chains show it.
TEST(TrainerEvaluation, AnEnergyThatIsNotFiniteIsADivergence) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.evaluate_every = 5;
  int64_t calls = 0;
  const auto score = [&](EnergyModel&) -> ValidationScore {
    if (++calls == 2) throw NonFinite("the energy of row 3 of the validation images is nan");
    return {-static_cast<double>(calls), 50};
  };
  Setting setting("rbm", options, {.validation_score = score});
  setting.trainer.start(scratch / "run");
  const TrainResult result = setting.trainer.run();
  EXPECT_EQ(result.recoveries, 1);
  EXPECT_EQ(result.iteration, options.iterations);
  const std::string log = read_file(scratch / "run/log.txt");
  EXPECT_NE(
      log.find(
          "training diverged at iteration 10: the energy of row 3 of the validation images is nan"),
      std::string::npos)
      << log;
}

ValidationScore sum_of_parameters(EnergyModel& model) {
  return {model.parameters()[0].sum().item<double>(), 50};
}

// A stopped evaluation is made after resuming, and the run does not differ from an uninterrupted
// one.
TEST(TrainerEvaluation, AStoppedEvaluationIsMadeAfterResuming) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.evaluate_every = 5;
  Setting whole("rbm", options, {.validation_score = sum_of_parameters});
  whole.trainer.start(scratch / "whole");
  EXPECT_FALSE(whole.trainer.run().interrupted);
  for (const int64_t stopped : {2, 4}) {
    const fs::path run = scratch / fmt::format("run{}", stopped);
    int64_t calls = 0;
    const auto score = [&](EnergyModel& model) -> std::optional<ValidationScore> {
      if (++calls == stopped) return std::nullopt;
      return sum_of_parameters(model);
    };
    Setting first("rbm", options, {.validation_score = score});
    first.trainer.start(run);
    const TrainResult result = first.trainer.run();
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.iteration, 5 * stopped);
    EXPECT_FALSE(metrics_of(run).back().contains("validation_score"));
    Setting second("rbm", options, {.validation_score = sum_of_parameters});
    second.trainer.resume(run);
    EXPECT_FALSE(second.trainer.run().interrupted);
    EXPECT_EQ(metrics_of(run), metrics_of(scratch / "whole"));
    EXPECT_EQ(read_file(run / "best.pt"), read_file(scratch / "whole/best.pt"));
    EXPECT_EQ(read_checkpoint(run / "checkpoints/00000020.pt").best_score,
              read_checkpoint(scratch / "whole/checkpoints/00000020.pt").best_score);
    expect_same_state(run / "checkpoints/00000020.pt", scratch / "whole/checkpoints/00000020.pt");
  }
}

TEST(TrainerEvaluation, AFailedEvaluationLeavesTheParameters) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.iterations = 5;
  train("rbm", scratch / "plain", options);
  options.evaluate_every = 5;
  Setting setting("rbm", options, {.validation_score = [](EnergyModel&) -> ValidationScore {
                    throw Error("no score");
                  }});
  setting.trainer.start(scratch / "run");
  EXPECT_THROW(setting.trainer.run(), Error);
  NamedTensors left;
  for (const auto& p : setting.model->named_parameters()) left.emplace_back(p.key(), p.value());
  expect_equal(left, read_named_tensors(scratch / "plain/weights.pt"), "raw parameter");
}

// The elapsed time of a run includes everything that it does.
TEST(TrainerEvaluation, SecondsCountEvaluations) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.evaluate_every = 5;
  static constexpr double kSeconds = 0.05;
  Setting setting("rbm", options, {.validation_score = [](EnergyModel& model) {
                    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
                    return sum_of_parameters(model);
                  }});
  setting.trainer.start(scratch / "run");
  setting.trainer.run();
  std::vector<double> seconds;
  std::istringstream text(read_file(scratch / "run/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    seconds.push_back(nlohmann::json::parse(line)["seconds"]);
  }
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
  EXPECT_GE(seconds.back(), 4 * kSeconds);
  EXPECT_GE(seconds[4] - seconds[3], kSeconds);
  options.iterations = 21;
  resume("rbm", scratch / "run", options);
  const std::string lines = read_file(scratch / "run/metrics.jsonl");
  const size_t last = lines.rfind('\n', lines.size() - 2);
  EXPECT_GT(nlohmann::json::parse(lines.substr(last + 1))["seconds"], seconds.back());
}

}  // namespace
}  // namespace isinglass::trainer_evaluation_test
