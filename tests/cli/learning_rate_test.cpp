// isinglass train: how the learning rate changes in a run, and with it the number of steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/directory_fixture.h"
#include "tests/support/inputs.h"
#include "tests/support/json_lines.h"

namespace isinglass::learning_rate_test {
namespace {

using Json = nlohmann::json;

class LearningRates : public DirectoryFixture {
 protected:
  void SetUp() override { write_pt(dir_ / "bars.pt", PtValue{bars()}); }

  // Persistent contrastive divergence into the directory `out`.
  Outcome train(const std::string& out, const std::string& flags) {
    return run(
        "train --model rbm --hidden 4 --sampler pafs --radius 2 --dataset bars.pt --batch 6 "
        "--buffer 20 --steps-per-iter 2 --evaluate-every 0 --threads 1 --quiet --overwrite --out " +
        out + " " + flags);
  }
  std::vector<Json> metrics(const std::string& out) {
    return json_lines(dir_ / out / "metrics.jsonl");
  }
  void refused_flags(const std::string& flags, const std::string& sentence) {
    const Outcome failed = train("refused", "--iters 20 --warmup 0 " + flags);
    EXPECT_EQ(failed.exit_code, 2) << failed.err;
    EXPECT_NE(failed.err.find(sentence), std::string::npos) << failed.err;
  }
};

TEST_F(LearningRates, FallAsAsked) {
  const auto rates = [&](const std::string& flags) {
    const Outcome outcome = train("rates", "--iters 300 --lr 0.01 --warmup 20 " + flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<double> rates;
    for (const Json& line : metrics("rates")) rates.push_back(line["learning_rate"]);
    return rates;
  };
  const std::vector<double> linear = rates("--lr-schedule linear --lr-end 0.002");
  EXPECT_EQ(linear[19], 0.01);
  EXPECT_NEAR(linear[159], 0.006, 1e-15);
  EXPECT_NEAR(linear.back(), 0.002, 1e-15);
  EXPECT_EQ(rates("--lr-schedule cosine --clip 0.5").back(), 0);
  refused_flags("--lr-end 0.002", "--lr-end cannot be combined with --lr-schedule constant");
}

// The options reach the run, its metrics and its settings.
TEST_F(LearningRates, FollowTheChains) {
  const Outcome outcome = train(
      "lag", "--iters 20 --lr 0.1 --warmup 0 --lr-control lag --steps-end 6 --beta1 0.5 --clip 1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  double factor = 1;
  for (const Json& line : metrics("lag")) {
    const double share = line["lag_share"];
    EXPECT_GT(share, 0);
    EXPECT_LE(share, 1);
    EXPECT_DOUBLE_EQ(line["learning_rate"], 0.1 * factor);
    factor = std::min(1.0, factor * (share > 0.9 ? 1.01 : share < 0.7 ? 0.95 : 1));
  }
  EXPECT_LT(factor, 1);
  const std::string settings = file_bytes(dir_ / "lag" / "config.toml");
  for (const char* line : {"lr-control = 'lag'", "steps-end = 6", "beta1 = 0.5"}) {
    EXPECT_NE(settings.find(line), std::string::npos) << settings;
  }
  refused_flags("--steps-end 1", "--steps-end is 1; it must be at least --steps-per-iter, 2");
  refused_flags("--beta1 1", "beta1 is 1; it must be in [0, 1)");
  refused_flags("--lr-control lag --reinit 0.1", "--lr-control lag follows chains that persist");
}

}  // namespace
}  // namespace isinglass::learning_rate_test
