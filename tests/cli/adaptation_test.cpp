// Adaptation takes place in burn-in: `sample` reports how far it came; `evaluate` and the stages of
// `bench` without a burn-in refuse it. `train` adapts step sizes between iterations, and refuses
// what else adapts. Defaults and ranges of samplers' options, end to end.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/inputs.h"
#include "tests/support/json_lines.h"
#include "tests/support/program.h"

namespace isinglass::adaptation_test {
namespace {

using Json = nlohmann::json;

class AdaptationEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    write_rbm(dir_ / "rbm.pt");
    write_pt(dir_ / "bars.pt", PtValue{bars()});
  }

  Outcome run(const std::string& arguments) {
    return run_program(arguments, {.directory = dir_.path()});
  }

  void expect_refused(const std::string& arguments, const std::string& sentence) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
    EXPECT_EQ(line_count(outcome.err), 1) << arguments << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << arguments << "\n" << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << arguments;
  }

  struct Sampled {
    Json summary;
    std::string err;
  };
  Sampled sample(const std::string& arguments) {
    const Outcome outcome = run("sample --seed 3 --out out --overwrite --json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return {Json::parse(outcome.out), outcome.err};
  }

  TemporaryDirectory dir_;
};

const std::string kTrain =
    "train --model rbm --hidden 4 --dataset bars.pt --batch 6 --buffer 20 --steps-per-iter 2 "
    "--iters 3 --out out --quiet ";
const std::string kEvaluate =
    "evaluate --model rbm --weights rbm.pt --chains 8 --steps 5 --out out --quiet ";

const std::pair<const char*, const char*> kLearn[] = {
    {"--sampler ab-1st", "ab-1st learns in burn-in, but "},
    {"--sampler ab-1st", "with --sigma and --alpha it has nothing to learn"},
    {"--sampler ab-trace", "ab-trace learns in burn-in, but "},
    {"--sampler ab-shift --sigma 1 --alpha 0.6", "ab-shift learns in burn-in, but "},
    {"--sampler lsb-1", "lsb-1 learns in burn-in, but "},
    {"--sampler flsb-2", "flsb-2 learns in burn-in, but "}};

TEST_F(AdaptationEndToEnd, TrainingRefusesSamplersThatLearnMoreThanAStepSize) {
  for (const auto& [sampler, sentence] : kLearn) expect_refused(kTrain + sampler, sentence);
  const Outcome fixed = run(kTrain + "--sampler ab-1st --sigma 0.2 --alpha 0.6");
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err;
  const std::string config = file_bytes(dir_ / "out" / "config.toml");
  EXPECT_NE(config.find("sigma = 0.2"), std::string::npos) << config;
  EXPECT_EQ(config.find("adapt = true"), std::string::npos) << config;
}

// Training comes to the target acceptance from a step size that is far too large, and a run that
// was stopped goes on with the same bits.
TEST_F(AdaptationEndToEnd, TrainingAdaptsAStepSizeBetweenIterations) {
  torch::manual_seed(1);
  write_pt(dir_ / "points.pt", PtValue{torch::randn({400, 4})});
  const auto metrics = [&](const char* name) { return json_lines(dir_ / name / "metrics.jsonl"); };
  const std::pair<std::string, double> cases[] = {
      {"--dataset points.pt --model mlp --sampler mala --step-size 20", 0.574},
      {"--dataset bars.pt --model rbm --hidden 4 --sampler pafs --radius 1", 0}};
  for (const auto& [sampler, target] : cases) {
    SCOPED_TRACE(sampler);
    const std::string train = "train " + sampler +
                              " --adapt --batch 6 --buffer 20 --lr 1e-3 --steps-per-iter 5 "
                              "--warmup 0 --quiet --overwrite ";
    const Outcome once = run(train + "--iters 400 --out whole");
    ASSERT_EQ(once.exit_code, 0) << once.err;
    const std::vector<Json> whole = metrics("whole");
    ASSERT_EQ(whole.size(), 400u);
    EXPECT_NE(whole[0]["step_size"], whole[399]["step_size"]);
    double mean = 0;
    for (size_t i = 300; i < 400; ++i) mean += whole[i]["acceptance"].get<double>() / 100;
    if (target > 0) {
      EXPECT_GT(std::abs(whole[0]["acceptance"].get<double>() - target), 0.2);
      EXPECT_NEAR(mean, target, 0.05);
    } else {  // nearly every move of this model is accepted
      EXPECT_GT(whole[399]["step_size"], 2);
    }

    ASSERT_EQ(run(train + "--iters 150 --out parts").exit_code, 0);
    const Outcome resumed = run("train --quiet --resume parts --iters 400");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(file_bytes(dir_ / "whole" / "ema.pt"), file_bytes(dir_ / "parts" / "ema.pt"));
    EXPECT_EQ(whole[399]["step_size"], metrics("parts")[399]["step_size"]);
  }
  ASSERT_EQ(run(kTrain + "--sampler pafs").exit_code, 0);
  EXPECT_EQ(file_bytes(dir_ / "out" / "metrics.jsonl").find("step_size"), std::string::npos);
}

TEST_F(AdaptationEndToEnd, AnnealingTakesFixedSamplersOnly) {
  expect_refused(kEvaluate + "--sampler pafs --adapt", "--adapt acts in burn-in, but ");
  for (const auto& [sampler, sentence] : kLearn) expect_refused(kEvaluate + sampler, sentence);
  const Outcome fixed = run(kEvaluate + "--sampler ab-variance --sigma 0.2 --alpha 0.6");
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err;
}

TEST_F(AdaptationEndToEnd, BenchLeavesOutStagesWithoutBurnIn) {
  const std::string bench =
      "bench --model rbm --weights rbm.pt --chains 4 --burn-in 30 --warm-up 1 --repeats 2 --json "
      "--quiet --sampler ab-1st";
  const Outcome outcome = run(bench);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out);
  std::set<std::string> names;
  for (const Json& stage : result["stages"]) names.insert(stage["name"]);
  EXPECT_TRUE(names.contains("step"));
  EXPECT_FALSE(names.contains("ais-step") || names.contains("training-iteration"));
  for (const char* stage : {"ais-step", "training-iteration"}) {
    expect_refused(bench + " --stages " + stage, "the sampler learns in burn-in");
  }
}

const std::string kGrid = "--instance ising-grid:side=4,coupling=0.3 --chains 10 --steps 5 ";

TEST_F(AdaptationEndToEnd, TooShortASearchIsSaid) {
  const std::string search = kGrid + "--sampler ab-1st ";
  for (const char* steps : {"0", "10"}) {
    const Sampled none = sample(search + "--burn-in " + steps);
    EXPECT_EQ(none.summary["adaptation"], Json({{"rounds", 0}, {"settled", false}}));
    EXPECT_NE(none.err.find("isinglass: warning: ab-1st: the search for sigma and alpha"),
              std::string::npos)
        << none.err;
  }
  EXPECT_EQ(sample(search + "--burn-in 10 --quiet").err, "");

  const Sampled enough = sample(search + "--burn-in 3000");
  EXPECT_TRUE(enough.summary["adaptation"]["settled"].get<bool>());
  EXPECT_GT(enough.summary["adaptation"]["rounds"].get<int>(), 3);
  EXPECT_EQ(enough.err.find("warning"), std::string::npos) << enough.err;

  const Sampled fixed = sample(search + "--sigma 0.3 --alpha 0.6");
  EXPECT_FALSE(fixed.summary.contains("adaptation"));
  EXPECT_EQ(fixed.err.find("warning"), std::string::npos) << fixed.err;
}

TEST_F(AdaptationEndToEnd, AnAcceptanceFarFromItsTargetIsSaid) {
  const std::string pafs =
      "--instance ising-grid:side=20,coupling=0.3 --chains 10 --steps 5 --sampler pafs --radius 1 ";
  const Sampled none = sample(pafs + "--adapt");
  EXPECT_EQ(none.summary["adaptation"], Json({{"rounds", 0}, {"settled", false}}));
  EXPECT_NE(none.err.find("--adapt acts in burn-in, and there was no burn-in"), std::string::npos);
  const Sampled two = sample(pafs + "--adapt --burn-in 2");
  EXPECT_EQ(two.summary["adaptation"], Json({{"rounds", 2}, {"settled", false}}));
  EXPECT_NE(two.err.find("pafs: --adapt aims at a mean acceptance of 0.574"), std::string::npos)
      << two.err;
  const Sampled enough = sample(pafs + "--adapt --burn-in 1000");
  EXPECT_TRUE(enough.summary["adaptation"]["settled"].get<bool>());
  EXPECT_EQ(enough.err.find("warning"), std::string::npos) << enough.err;
  EXPECT_FALSE(sample(pafs).summary.contains("adaptation"));
}

TEST_F(AdaptationEndToEnd, ABalancingFunctionIsLearnedInBurnIn) {
  const std::string lsb = kGrid + "--sampler lsb-1 ";
  EXPECT_NE(sample(lsb).err.find("no balancing function was learned in burn-in"),
            std::string::npos);
  const Sampled learned = sample(lsb + "--burn-in 5");
  EXPECT_EQ(learned.summary["adaptation"], Json({{"rounds", 5}, {"settled", true}}));
  const Outcome warm = run("sample --seed 3 --out warm --warm-start out/summary.json " + lsb);
  EXPECT_EQ(warm.exit_code, 0) << warm.err;
  EXPECT_EQ(warm.err.find("warning"), std::string::npos) << warm.err;
}

TEST_F(AdaptationEndToEnd, DefaultsThatWereCutAreShown) {
  const std::string eight = "--instance bernoulli:sites=8 --chains 5 --steps 5 --quiet ";
  EXPECT_EQ(sample(eight + "--sampler nb").summary["adapted"]["radius"], 4.5);
  const std::string config = file_bytes(dir_ / "out" / "config.toml");
  EXPECT_NE(config.find("radius = 4.5"), std::string::npos) << config;
  sample(eight + "--sampler hamming-ball");
  const std::string ball = file_bytes(dir_ / "out" / "config.toml");
  EXPECT_NE(ball.find("block = 8"), std::string::npos) << ball;
  std::filesystem::remove_all(dir_ / "out");
  expect_refused("sample --out out " + eight + "--sampler nb --radius 5", "--radius is 5");
}

// The ranges on the command line equal those of the registry.
TEST_F(AdaptationEndToEnd, RangesAreTheSamplers) {
  const Json list = Json::parse(run("sample --list --json").out);
  const std::string help = run("sample --help").out;
  for (const Json& sampler : list["samplers"]) {
    for (const auto& [name, range] : sampler["options"].items()) {
      EXPECT_NE(help.find("--" + name + " "), std::string::npos) << name;
    }
  }
  const std::string some = "--instance bernoulli:sites=8 --chains 5 --steps 5 --quiet ";
  sample(some + "--sampler ab-1st --sigma 1 --alpha 0");
  std::filesystem::remove_all(dir_ / "out");
  const std::string refused = "sample --out out " + some;
  expect_refused(refused + "--sampler ab-1st --sigma 0 --alpha 0.5", "--sigma is 0");
  expect_refused(refused + "--sampler ab-1st --sigma 1 --alpha 1.1", "--alpha is 1.1");
  expect_refused(refused + "--sampler pafs --radius 0.5", "--radius is 0.5");
  expect_refused(refused + "--sampler pafs --radius 70000", "--radius is 70000");
  expect_refused(refused + "--sampler pafs --adapt --target-acceptance 0",
                 "--target-acceptance is 0");
}

}  // namespace
}  // namespace isinglass::adaptation_test
