// Divergence of whole training runs: it is detected, and a run recovers from it. A run that is
// killed at any moment of the recovery ends with the same bits.
#include <gtest/gtest.h>

#include <map>

#include "engine/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::recovery_test {
namespace {

PcdRun without_recovery() {
  PcdRun options = small_options();
  options.recover = 0;
  return options;
}

std::string what_stops(Setting& setting, const fs::path& directory) {
  setting.trainer.start(directory);
  try {
    setting.trainer.run();
  } catch (const NumericalError& error) {
    return error.what();
  }
  return "no divergence";
}

// Ends the message if nothing but the initial state is from before the divergence.
constexpr const char* kStartAgain =
    "; start again with a lower `lr`, because only the checkpoint of iteration 0 is from before "
    "the "
    "divergence";

void expect_finite_checkpoints(const fs::path& directory) {
  const RunDirectory run = RunDirectory::open(directory);
  for (const fs::path& file : run.checkpoints()) {
    for (const auto& [name, tensor] : read_checkpoint(file).parameters) {
      EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << file << " " << name;
    }
  }
}

// Sets a weight of the model to infinity after iteration 3.
struct Saboteur : TrainObserver {
  EnergyModel* model = nullptr;
  void on_iteration(const Metrics& metrics) override {
    torch::NoGradGuard no_grad;
    if (metrics.iteration == 3) model->parameters()[0].flatten()[0].fill_(INFINITY);
  }
};

TEST(DivergingRun, StopsWhenAnEnergyIsNotFinite) {
  const Scratch scratch;
  Saboteur saboteur;
  Setting setting("rbm", without_recovery(), {.observer = &saboteur});
  saboteur.model = setting.model.get();
  const std::string message = what_stops(setting, scratch / "run");
  EXPECT_NE(message.find("diverged at iteration 4: "), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(kStartAgain)) << message;
  expect_finite_checkpoints(scratch / "run");
}

TEST(DivergingRun, StopsWhenNoGradientIsFinite) {
  const Scratch scratch;
  Setting setting("rbm", without_recovery());
  setting.model->parameters()[0].register_hook(
      [](const torch::Tensor& gradient) { return torch::full_like(gradient, NAN); });
  const std::string message = what_stops(setting, scratch / "run");
  EXPECT_NE(message.find("diverged at iteration 10: the norm of the gradient is nan, and 10 "
                         "iterations in a row made no update"),
            std::string::npos)
      << message;
  EXPECT_TRUE(message.ends_with(kStartAgain)) << message;
  expect_finite_checkpoints(scratch / "run");
}

TEST(DivergingRun, StopsWhenAParameterIsInfinite) {
  const Scratch scratch;
  Setting setting("rbm", without_recovery());
  const std::vector<torch::Tensor> parameters = setting.model->parameters();
  parameters[0].register_hook([last = parameters.back()](const torch::Tensor& gradient) {
    torch::NoGradGuard no_grad;
    last.flatten()[0].fill_(-INFINITY);  // the loss is known by now
    return gradient;
  });
  const std::string message = what_stops(setting, scratch / "run");
  EXPECT_NE(message.find("diverged at iteration 1: a parameter is not finite"), std::string::npos)
      << message;
}

TEST(DivergingRun, StopsWhenTheEnergiesStayApart) {
  const Scratch scratch;
  PcdRun options = without_recovery();
  options.learning_rate = 10;
  options.warmup = 0;
  options.iterations = 400;
  Setting setting("rbm", options);
  const std::string message = what_stops(setting, scratch / "run");
  EXPECT_NE(message.find("100 iterations in a row"), std::string::npos) << message;
  expect_finite_checkpoints(scratch / "run");
  // The detection takes 100 iterations; the log has the same sentence.
  EXPECT_GE(metrics_of(scratch / "run").size(), 99u);
  EXPECT_NE(read_file(scratch / "run/log.txt").find(message), std::string::npos);
}

// A rate that is too high, in a run that is over before the energies were apart for long enough.
TEST(DivergingRun, IsWarnedOfIfItEndsBeforeThat) {
  const Scratch scratch;
  struct : TrainObserver {
    std::vector<std::string> all;
    void on_warning(const std::string& message) override { all.push_back(message); }
  } warnings;
  PcdRun options = without_recovery();
  options.learning_rate = 10;
  options.warmup = 0;
  options.iterations = 60;
  Setting setting("rbm", options, {.observer = &warnings});
  setting.trainer.start(scratch / "run");
  EXPECT_EQ(setting.trainer.run().iteration, 60);
  ASSERT_EQ(warnings.all.size(), 1u);
  EXPECT_EQ(warnings.all[0].find("iteration 60: training ended while it diverged: "), 0u)
      << warnings.all[0];
}

// Contrastive divergence whose loss is NaN in the ten iterations up to given ones if the learning
// rate is above a bound. Like everything else, this is a function of iteration and state.
class Planted : public Objective {
 public:
  using Bounds = std::map<int64_t, double>;

  Planted(std::unique_ptr<Objective> objective, Bounds bounds)
      : objective_(std::move(objective)), bounds_(std::move(bounds)) {}

  Batch draw(EnergyModel& model, int64_t iteration) override {
    return objective_->draw(model, iteration);
  }
  Loss loss(EnergyModel& model, const Batch& batch) override {
    Loss loss = objective_->loss(model, batch);
    const int64_t iteration = batch.iteration;
    const auto bound = bounds_.lower_bound(iteration);
    if (bound != bounds_.end() && bound->first - iteration < 10 &&
        trainer->learning_rate() > bound->second) {
      loss.value = loss.value * NAN;
    }
    return loss;
  }
  void update(const std::function<torch::Tensor()>& step) override { objective_->update(step); }
  void keep(Batch batch) override { objective_->keep(std::move(batch)); }
  PtDict settings() const override { return objective_->settings(); }
  torch::Tensor chains() const override { return objective_->chains(); }
  void repair(EnergyModel& model, int64_t recovery) override {
    objective_->repair(model, recovery);
  }
  void draw_data(const fs::path& file) override { objective_->draw_data(file); }
  void draw_samples(EnergyModel& model, const fs::path& file) override {
    objective_->draw_samples(model, file);
  }

  const Trainer* trainer = nullptr;

 private:
  std::unique_ptr<Objective> objective_;
  Bounds bounds_;
};

PcdRun long_options() {
  PcdRun options = small_options();
  options.iterations = 460;
  options.checkpoint_every = 50;
  options.schedule = RateSchedule::kLinear;
  return options;
}

// A run that diverges at iterations 30 (and goes back to the start) and 440 (back to 200) unless it
// has recovered once, or twice.
struct PlantedRun {
  explicit PlantedRun(const PcdRun& options, TrainHooks hooks = {},
                      Planted::Bounds bounds = kBounds)
      : setting("rbm", options) {
    auto planted = std::make_unique<Planted>(
        setting.objective(*setting.sampler, setting.data, options), bounds);
    Planted& objective = *planted;
    trainer.emplace(setting.model, std::move(planted), options, std::move(hooks));
    objective.trainer = &*trainer;
  }

  static const Planted::Bounds kBounds;

  Setting setting;
  std::optional<Trainer> trainer;
};
// The rate there is 1e-2·(430 / 450) and 1e-2·(20 / 450), before it is halved; nine iterations
// before 440 it is 1e-2·(29 / 450), a quarter of which is below the bound.
const Planted::Bounds PlantedRun::kBounds = {{30, 6e-3}, {440, 1.7e-4}};

// The process ends here, and nothing is saved except what is on disk.
struct Killed {};

struct Killer : TrainObserver {
  std::function<bool(const Metrics&)> at_iteration = [](const auto&) { return false; };
  std::function<bool(const std::string&)> at_message = [](const auto&) { return false; };
  void on_iteration(const Metrics& metrics) override {
    if (at_iteration(metrics)) throw Killed();
  }
  void on_message(const std::string& message) override {
    if (at_message(message)) throw Killed();
  }
};

void expect_same_end(const fs::path& whole, const fs::path& run) {
  expect_same_state(whole / "checkpoints/00000460.pt", run / "checkpoints/00000460.pt");
  for (const char* name : {"weights.pt", "ema.pt"})
    EXPECT_EQ(read_file(whole / name), read_file(run / name)) << name;
  EXPECT_EQ(metrics_of(whole), metrics_of(run));
}

class Recovery : public testing::Test {
 protected:
  void SetUp() override {
    PlantedRun run(long_options());
    run.trainer->start(whole_);
    const TrainResult result = run.trainer->run();
    ASSERT_EQ(result.recoveries, 2) << read_file(whole_ / "log.txt");
    ASSERT_EQ(result.iteration, 460);
  }

  void finish(const fs::path& directory) {
    PlantedRun rest(long_options());
    rest.trainer->resume(directory);
    EXPECT_EQ(rest.trainer->run().recoveries, 2);
    expect_same_end(whole_, directory);
  }

  Scratch scratch_;
  const fs::path whole_ = scratch_ / "whole";
};

TEST_F(Recovery, HalvesTheRateForGood) {
  const auto metrics = metrics_of(whole_);
  ASSERT_EQ(metrics.size(), 460u);
  const LearningRate rate{.peak = 1e-2, .warmup = 10, .schedule = RateSchedule::kLinear, .to = 460};
  // No iterations of the first process are left.
  for (int64_t t = 1; t <= 460; ++t) {
    EXPECT_EQ(metrics[t - 1]["iteration"], t);
    EXPECT_EQ(metrics[t - 1]["learning_rate"], rate.at(t) / (t <= 200 ? 2 : 4)) << t;
    EXPECT_EQ(metrics[t - 1]["recoveries"], t <= 200 ? 1 : 2) << t;
  }
  const Checkpoint last = read_checkpoint(whole_ / "checkpoints/00000460.pt");
  EXPECT_TRUE(torch::equal(last.recoveries, torch::tensor({30, 440}, torch::kInt64)));
  EXPECT_EQ(last.adam_step.item<float>(), 460 - 200);  // Adam began anew
  const std::string log = read_file(whole_ / "log.txt");
  EXPECT_NE(log.find("diverged at iteration 440: the loss is nan, and 10 iterations in a row made "
                     "no update; back to iteration 200"),
            std::string::npos)
      << log;
}

TEST_F(Recovery, KilledAtAnyMomentItEndsInTheSameBits) {
  const auto diverged = [](const std::string& message) {
    return message.find("diverged at iteration 440") != std::string::npos;
  };
  int64_t runs = 0;
  const auto kill = [&](auto change) {
    const fs::path directory = scratch_ / fmt::format("run{}", runs++);
    Killer killer;
    change(killer);
    PlantedRun run(long_options(), {.observer = &killer});
    run.trainer->start(directory);
    EXPECT_THROW(run.trainer->run(), Killed);
    return directory;
  };
  for (const int64_t moment : {29, 199, 251, 439}) {
    finish(kill([&](Killer& killer) {
      killer.at_iteration = [moment](const auto& m) { return m.iteration == moment; };
    }));
  }
  for (const int64_t moment : {201, 300, 441}) {  // after the second recovery
    finish(kill([&](Killer& killer) {
      killer.at_iteration = [moment](const auto& m) {
        return m.iteration == moment && m.find("recoveries") == 2;
      };
    }));
  }
  const auto in_recovery = [&](Killer& killer) { killer.at_message = diverged; };
  finish(kill(in_recovery));  // before anything is changed
  // In the middle of the recovery, the later checkpoints are gone.
  for (const bool cut : {false, true}) {
    const fs::path directory = kill(in_recovery);
    RunDirectory::open(directory).remove_checkpoints_after(200);
    if (cut) MetricsFile(directory / "metrics.jsonl").on_start(200);
    finish(directory);
  }
}

// An interrupted run saves its present state; it recovers to the same iteration as an uninterrupted
// run.
TEST_F(Recovery, AnInterruptionDoesNotChangeWhereItGoes) {
  const fs::path directory = scratch_ / "stopped";
  for (const int64_t moment : {20, 29, 210, 233, 400, 439}) {
    std::optional<PlantedRun> run;
    run.emplace(long_options(),
                TrainHooks{.stop = [&] { return run->trainer->iteration() == moment; }});
    moment == 20 ? run->trainer->start(directory) : run->trainer->resume(directory);
    EXPECT_TRUE(run->trainer->run().interrupted);
  }
  finish(directory);
}

TEST_F(Recovery, EndsTheRunWhenThereWereTooMany) {
  for (const int64_t allowed : {0, 1, 2}) {
    PcdRun options = long_options();
    options.recover = allowed;
    // At every rate.
    PlantedRun run(options, {}, {{30, 0}});
    run.trainer->start(scratch_ / fmt::format("run{}", allowed));
    try {
      run.trainer->run();
      ADD_FAILURE() << "no divergence";
    } catch (const NumericalError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("training diverged at iteration 30: the loss is nan, and 10 "
                             "iterations in a row made no update; "),
                std::string::npos)
          << message;
      EXPECT_TRUE(message.ends_with(kStartAgain)) << message;
    }
    const auto metrics = metrics_of(scratch_ / fmt::format("run{}", allowed));
    EXPECT_EQ(metrics.size(), 29u);
    EXPECT_EQ(metrics.back().value("recoveries", 0), allowed);
  }
}

// A run that may not recover keeps only its two latest checkpoints.
TEST_F(Recovery, NamesTheCheckpointToGoBackTo) {
  PcdRun options = long_options();
  options.recover = 0;
  PlantedRun run(options, {}, {{440, 0}});
  run.trainer->start(scratch_ / "late");
  try {
    run.trainer->run();
    ADD_FAILURE() << "no divergence";
  } catch (const NumericalError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .ends_with("; the checkpoint to go back to is " +
                               (scratch_ / "late/checkpoints/00000350.pt").string()))
        << error.what();
  }
}

// The chains of a model without any energy accept every step of a test that could reject them.
TEST(DivergingRun, NamesAStepSizeThatIsTooSmall) {
  const Scratch scratch;
  PcdRun options = without_recovery();
  options.iterations = options.checkpoint_every = 100;
  for (const bool rejects : {true, false}) {
    Setting setting("rbm", options);
    const auto sampler =
        make_sampler("dlp", {.step_size = 0.25, .unadjusted = !rejects}, *setting.model);
    int64_t made = 0;
    for (const torch::Tensor& parameter : setting.model->parameters()) {
      torch::NoGradGuard no_grad;
      parameter.zero_();
      parameter.register_hook([&made](const torch::Tensor& gradient) {
        return torch::full_like(gradient, made > 55 ? NAN : 0.0);
      });
    }
    struct : TrainObserver {
      int64_t* made = nullptr;
      void on_iteration(const Metrics& metrics) override { *made = metrics.iteration; }
    } counter;
    counter.made = &made;
    Trainer trainer(setting.model, setting.objective(*sampler, setting.data, options), options,
                    {.observer = &counter});
    trainer.start(scratch / (rejects ? "mh" : "unadjusted"));
    std::string message;
    try {
      trainer.run();
    } catch (const NumericalError& error) {
      message = error.what();
    }
    if (!rejects) {
      EXPECT_TRUE(message.ends_with(std::string("made no update") + kStartAgain)) << message;
      continue;
    }
    EXPECT_TRUE(message.ends_with(
        "made no update; the step size is too small: with `step-size` 0.25 the mean acceptance of "
        "the last 50 iterations is 1.0000; start again with a larger `step-size` or a lower `lr`, "
        "because only the checkpoint of iteration 0 is from before the divergence"))
        << message;
  }
}

// Recoveries long ago do not count: iteration 440 is more than ten checkpoints after 30.
TEST_F(Recovery, CountsThoseWithinTenCheckpoints) {
  PcdRun options = long_options();
  options.recover = 1;
  PlantedRun few(options);
  few.trainer->start(scratch_ / "within");
  EXPECT_THROW(few.trainer->run(), NumericalError);
  options.checkpoint_every = 40;
  PlantedRun enough(options);
  enough.trainer->start(scratch_ / "beyond");
  EXPECT_EQ(enough.trainer->run().recoveries, 2);
}

// U is infinite at first if the first site is set: those chains are redrawn, and no others.
TEST(RecoveryTest, ChainsWithoutAFiniteEnergyAreDrawnAnew) {
  struct Holed : SineModel {
    using SineModel::SineModel;
    torch::Tensor energy(const torch::Tensor& x) override {
      return SineModel::energy(x).masked_fill(x.select(1, 0) > 0, INFINITY);
    }
  };
  Dataset data = bars_and_stripes(3);
  Holed model(9);
  const auto sampler = make_sampler("rwm", {}, model);
  PcdObjective objective(model, *sampler, data, {.batch = 4, .buffer = 40, .steps = 1}, 10,
                         torch::kCPU);
  const torch::Tensor before = objective.chains().clone();
  const torch::Tensor bad = before.select(1, 0) > 0;
  ASSERT_GT(bad.sum().item<int64_t>(), 5);
  objective.repair(model, 1);
  const torch::Tensor once = objective.chains().clone();
  EXPECT_TRUE(torch::equal(before.index({~bad}), once.index({~bad})));
  EXPECT_TRUE((before.index({bad}) != once.index({bad})).any(1).any().item<bool>());
  EXPECT_LT((once.select(1, 0) > 0).sum().item<int64_t>(), bad.sum().item<int64_t>());
  for (int64_t recovery = 2; (objective.chains().select(1, 0) > 0).any().item<bool>(); ++recovery) {
    ASSERT_LT(recovery, 50);  // every time has numbers of its own
    objective.repair(model, recovery);
  }
}

}  // namespace
}  // namespace isinglass::recovery_test
