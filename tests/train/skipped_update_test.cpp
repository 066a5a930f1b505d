// If the loss or gradient of a batch is not finite, its update is not made, and nothing else
// changes. The reference is a run in whose checkpoint after that iteration everything that an
// update changes is restored by hand.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::skipped_update_test {
namespace {

constexpr int64_t kBad = 7;  // among 20 iterations

// Factors of this rank's loss and of its gradient, in one iteration.
struct Blow {
  double loss = 1, gradient = 1;
};

// PCD with such factors in one iteration.
class Struck : public PcdObjective {
 public:
  Struck(const Setting& setting, const PcdRun& options, const Ranks& ranks, Blow blow,
         std::set<int64_t> when)
      : PcdObjective(*setting.model, *setting.sampler, setting.data, options.pcd,
                     options.iterations, torch::kCPU, ranks),
        blow_(blow),
        when_(std::move(when)) {}

  Loss loss(EnergyModel& model, const Batch& batch) override {
    Loss loss = PcdObjective::loss(model, batch);
    if (!when_.contains(batch.iteration)) return loss;
    loss.value = loss.value * blow_.loss;
    if (blow_.gradient != 1) {
      loss.value.register_hook(
          [factor = blow_.gradient](const torch::Tensor& gradient) { return gradient * factor; });
    }
    return loss;
  }

 private:
  Blow blow_;
  std::set<int64_t> when_;
};

PcdRun centred_options() {
  PcdRun options = small_options();
  options.pcd.centre = true;
  options.weight_decay = 0.01;
  return options;
}

// Runs one process, up to the options' iterations.
TrainResult sitting(const fs::path& directory, const PcdRun& options, const Ranks& ranks, Blow blow,
                    bool resumed = false, std::set<int64_t> when = {kBad}) {
  Setting setting("rbm", options, {.ranks = &ranks});
  Trainer trainer(setting.model,
                  std::make_unique<Struck>(setting, options, ranks, blow, std::move(when)), options,
                  {.ranks = &ranks});
  resumed ? trainer.resume(directory) : trainer.start(directory);
  return trainer.run();
}

fs::path checkpoint_of(const fs::path& directory, int64_t iteration) {
  return directory / fmt::format("checkpoints/{:08}.pt", iteration);
}

// A run in which iteration kBad moves its chains and does nothing else.
void train_without_update(const fs::path& directory, PcdRun options, const Ranks& ranks) {
  PcdRun part = options;
  part.iterations = kBad;
  part.checkpoint_every = 1;
  sitting(directory, part, ranks, {});
  if (ranks.is_rank0()) {
    const Checkpoint before = read_checkpoint(checkpoint_of(directory, kBad - 1));
    Checkpoint after = read_checkpoint(checkpoint_of(directory, kBad));
    after.parameters = before.parameters;
    after.averages = before.averages;
    after.first_moments = before.first_moments;
    after.second_moments = before.second_moments;
    after.adam_step = before.adam_step;
    after.average_updates = before.average_updates;
    for (size_t i = 0; i < after.carried.size(); ++i) {
      const std::string& name = after.carried[i].first;
      if (name == "visible" || name == "hidden") after.carried[i] = before.carried[i];
    }
    after.divergence.differences = before.divergence.differences;
    after.divergence.acceptances = before.divergence.acceptances;
    after.skipped = 1;
    after.divergence.skipped_in_a_row = 1;
    write_checkpoint(checkpoint_of(directory, kBad), after);
  }
  ranks.any(false);
  sitting(directory, options, ranks, {}, /*resumed=*/true);
}

// All ranks behave alike; with several ranks, only the last one has the bad part of the batch.
void expect_no_trace(int64_t size, Blow blow, const PcdRun& options, const std::string& reason) {
  const Scratch scratch;
  const auto results = on_ranks<TrainResult>(size, [&](const Ranks& ranks) {
    train_without_update(scratch / "reference", options, ranks);
    const Blow own = ranks.rank() == size - 1 ? blow : Blow{};
    return sitting(scratch / "run", options, ranks, own);
  });
  for (const TrainResult& result : results) {
    EXPECT_EQ(result.skipped, 1);
    EXPECT_EQ(result.recoveries, 0);
  }
  expect_same_state(checkpoint_of(scratch / "reference", 20), checkpoint_of(scratch / "run", 20));
  const auto metrics = metrics_of(scratch / "run");
  ASSERT_EQ(metrics.size(), 20u);
  for (int64_t t = 1; t <= 20; ++t) {
    EXPECT_EQ(metrics[t - 1].value("skipped", 0), t < kBad ? 0 : 1) << t;
  }
  const std::string log = read_file(scratch / "run/log.txt");
  EXPECT_NE(log.find("iteration 7: " + reason), std::string::npos) << log;
  EXPECT_NE(log.find("; it made no update"), std::string::npos) << log;
}

TEST(SkippedUpdate, LeavesNoTraceOfALossThatIsNotFinite) {
  for (const int64_t size : {1, 2}) {
    SCOPED_TRACE(size);
    expect_no_trace(size, {.loss = NAN}, centred_options(), "the loss is nan");
    expect_no_trace(size, {.loss = INFINITY}, small_options(), "the loss is ");
  }
}

TEST(SkippedUpdate, LeavesNoTraceOfAGradientThatIsNotFinite) {
  for (const int64_t size : {1, 2}) {
    SCOPED_TRACE(size);
    expect_no_trace(size, {.gradient = NAN}, small_options(), "the norm of the gradient is nan");
  }
}

// Clipping would turn such a gradient into 0; without clipping its square would be infinite.
TEST(SkippedUpdate, LeavesNoTraceOfAGradientWhoseNormOverflows) {
  PcdRun options = small_options();
  for (const double clip : {0.0, 1.0}) {
    options.clip = clip;
    expect_no_trace(1, {.gradient = 1e25}, options, "the norm of the gradient is inf");
  }
}

// Killed and resumed anywhere, also in the middle of a series, the run ends with the same bits. Ten
// in a row are a divergence wherever it was interrupted.
TEST(SkippedUpdate, ResumesToTheBit) {
  const Scratch scratch;
  const std::set<int64_t> bad = {7, 8, 9, 14};
  const PcdRun options = centred_options();
  const Blow blow{.loss = NAN};
  EXPECT_EQ(sitting(scratch / "whole", options, Ranks::single_process(), blow, false, bad).skipped,
            4);
  for (const int64_t moment : {6, 7, 8, 9, 10, 14}) {
    const fs::path run = scratch / fmt::format("run{}", moment);
    PcdRun part = options;
    part.iterations = moment;
    sitting(run, part, Ranks::single_process(), blow, false, bad);
    sitting(run, options, Ranks::single_process(), blow, true, bad);
    expect_same_state(checkpoint_of(scratch / "whole", 20), checkpoint_of(run, 20));
    EXPECT_EQ(metrics_of(scratch / "whole"), metrics_of(run));
  }
  PcdRun part = options;
  part.iterations = 11;
  part.recover = 0;
  const std::set<int64_t> always = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(sitting(scratch / "lost", part, Ranks::single_process(), blow, false, always).skipped,
            7);
  part.iterations = 20;
  try {
    sitting(scratch / "lost", part, Ranks::single_process(), blow, true, always);
    ADD_FAILURE() << "no divergence";
  } catch (const NumericalError& error) {
    EXPECT_NE(std::string(error.what()).find("diverged at iteration 14: the loss is nan, and 10"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace isinglass::skipped_update_test
