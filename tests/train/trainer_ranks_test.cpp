// Training on ranks: their communication, and that they never continue with different parameters.
#include <gtest/gtest.h>

#include "engine/annealing/ais.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::trainer_ranks_test {
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

// Ranks exchange the new states, and one buffer with gradients, numbers and stop flags. They
// exchange nothing else, and nothing within a chain's steps, of which an iteration has three.
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

// U of a rank whose memory or whose chains are bad.
struct Infinite : SineModel {
  using SineModel::SineModel;
  torch::Tensor energy(const torch::Tensor& x) override { return SineModel::energy(x) + INFINITY; }
};

// Annealing whose chains cannot start on one rank fails on all of them before they wait for each
// other's weights, so that all recover together.
TEST(TrainerOnRanks, AnEvaluationThatFailsOnOneRankIsADivergenceOfAll) {
  const Scratch scratch;
  const auto logs = on_ranks<std::string>(3, [&](const Ranks& ranks) -> std::string {
    SineModel sound(6);
    Infinite bad(6);
    const auto sampler = make_sampler("rwm", {}, sound);
    const Factorised start = Factorised::uniform(sound.space(), torch::kCPU);
    PcdRun options = small_options();
    options.evaluate_every = 5;
    int64_t calls = 0;
    const auto score = [&](EnergyModel&) -> ValidationScore {
      SineModel& model = ++calls == 2 && ranks.rank() == 1 ? bad : sound;
      AnnealedImportanceSampling ais(model, *sampler, start, {.chains = 9, .temperatures = 4},
                                     torch::kCPU, ranks);
      return {ais.run().log_z, 50};
    };
    Setting setting("rbm", options, {.ranks = &ranks, .validation_score = score});
    setting.trainer.start(scratch / "run");
    const TrainResult result = setting.trainer.run();
    EXPECT_EQ(result.iteration, options.iterations);
    EXPECT_EQ(result.recoveries, 1);
    return "";
  });
  const std::string log = read_file(scratch / "run/log.txt");
  EXPECT_NE(log.find("diverged at iteration 10: rank 1: the energy is not finite at 3 of the 3"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace isinglass::trainer_ranks_test
