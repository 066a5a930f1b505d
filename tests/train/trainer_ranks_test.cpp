// Training on ranks: what they send each other, and that they never go on with different parameters.
#include <gtest/gtest.h>

#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass {
namespace {

Exchanges sent_in(int64_t iterations, const std::string& model, const Ranks& ranks,
                  const fs::path& directory) {
  const CountedRank counted(ranks);
  PcdRun options = small_options();
  options.iterations = iterations;
  options.checkpoint_every = 1000;
  Setting setting(model, options, {.ranks = &counted});
  setting.trainer.start(directory);
  setting.trainer.run();
  return counted.counts;
}

// New states, and one buffer with gradients, numbers and who was told to stop: nothing else, and
// nothing inside of a chain's step, of which an iteration has three.
TEST(TrainerOnRanks, AnIterationIsOneGatherAndOneSum) {
  const Scratch scratch;
  for (const char* model : {"rbm", "resnet"}) {
    SCOPED_TRACE(model);
    const auto sent = on_ranks<std::pair<Exchanges, Exchanges>>(2, [&](const Ranks& ranks) {
      const Exchanges few = sent_in(5, model, ranks, scratch / fmt::format("few-{}", model));
      return std::pair(few, sent_in(15, model, ranks, scratch / fmt::format("many-{}", model)));
    });
    for (const auto& [few, many] : sent) {
      EXPECT_EQ(many.sums - few.sums, 10);
      EXPECT_EQ(many.gathers - few.gathers, 10);
      EXPECT_EQ(many.wishes - few.wishes, 0);
    }
  }
}

// Moves a parameter of this rank alone, as a faulty memory would.
class Fault : public TrainObserver {
 public:
  void on_iteration(const Metrics& metrics) override {
    if (metrics.iteration != 8) return;
    torch::NoGradGuard no_grad;
    model->parameters()[0].add_(1e-3);
  }
  std::shared_ptr<EnergyModel> model;
};

TEST(TrainerOnRanks, OtherParametersOnOneRankEndTheJobAtTheNextCheckpoint) {
  const Scratch scratch;
  const auto said = on_ranks<std::string>(3, [&](const Ranks& ranks) -> std::string {
    Fault fault;
    TrainHooks hooks{.ranks = &ranks};
    if (ranks.rank() == 2) hooks.observer = &fault;
    Setting setting("rbm", small_options(), hooks);
    fault.model = setting.model;
    setting.trainer.start(scratch / "run");
    try {
      setting.trainer.run();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  });
  for (const std::string& line : said) {
    EXPECT_EQ(line, "the ranks' parameters differ at iteration 12");
  }
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/00000006.pt"));
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/00000012.pt"));
}

}  // namespace
}  // namespace isinglass
