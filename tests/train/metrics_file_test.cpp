// The lines of metrics.jsonl, and how the file is cut back.
#include "train/metrics_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::metrics_file_test {
namespace {

namespace fs = std::filesystem;

Metrics iteration(int64_t t) {
  return {t, {{"energy_data", -1.5 * t}, {"seconds", 0.25 * t}}};
}

std::string metrics_text(int64_t first, int64_t last) {
  std::string text;
  for (int64_t t = first; t <= last; ++t) text += json_line(iteration(t)) + "\n";
  return text;
}

TEST(MetricsTest, ALineIsAnObjectOfItsNamesInOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Metrics metrics{3, {{"hops", 0.1}, {"gradient_norm", nan}, {"acceptance", 1}}};
  EXPECT_EQ(json_line(metrics),
            R"({"iteration":3,"hops":0.1,"gradient_norm":null,"acceptance":1.0})");
  EXPECT_EQ(metrics.find("hops"), 0.1);
  EXPECT_EQ(metrics.find("loss"), std::nullopt);
  add_score(metrics, {.value = -90.5, .weight_ess = 33});
  const auto scored = nlohmann::json::parse(json_line(metrics));
  EXPECT_EQ(scored["validation_score"], -90.5);
  EXPECT_EQ(scored["validation_weight_ess"], 33);
}

TEST(MetricsFileTest, AnObserverOfIterationsAndScores) {
  const Scratch scratch;
  const fs::path file = scratch / "metrics.jsonl";
  for (const int64_t first : {4, 1}) {
    fs::remove(file);
    MetricsFile metrics(file);
    for (int64_t t = first; t <= 4; ++t) metrics.on_iteration(iteration(t));
    EXPECT_EQ(read_file(file), metrics_text(first, 4));
    metrics.on_start(4);
    EXPECT_FALSE(metrics.scored());
    metrics.on_score({.value = -90.5, .weight_ess = 33});
    Metrics scored = iteration(4);
    add_score(scored, {.value = -90.5, .weight_ess = 33});
    EXPECT_EQ(read_file(file), metrics_text(first, 3) + json_line(scored) + "\n");
    metrics.on_start(4);
    EXPECT_TRUE(metrics.scored());
    metrics.on_start(3);
    EXPECT_FALSE(metrics.scored());
  }
}

TEST(MetricsFileTest, IsCutBackToAnIteration) {
  const Scratch scratch;
  const fs::path file = scratch / "metrics.jsonl";
  write_file(file, metrics_text(1, 9));
  MetricsFile metrics(file);
  for (int again = 0; again < 2; ++again) {
    metrics.on_start(6);
    EXPECT_EQ(metrics.seconds(), 1.5);
    EXPECT_EQ(read_file(file), metrics_text(1, 6));
  }
  metrics.on_start(0);
  EXPECT_EQ(metrics.seconds(), 0);
  EXPECT_EQ(read_file(file), "");
  MetricsFile missing(scratch / "missing.jsonl");
  missing.on_start(6);
  EXPECT_EQ(missing.seconds(), 0);
}

TEST(MetricsFileTest, AHalfWrittenLastLineIsCut) {
  const Scratch scratch;
  const fs::path file = scratch / "metrics.jsonl";
  const std::string whole = metrics_text(1, 4), next = metrics_text(5, 5);
  // Every length of the fifth line short of its newline.
  for (size_t length = 1; length < next.size(); ++length) {
    write_file(file, whole + next.substr(0, length));
    MetricsFile metrics(file);
    metrics.on_start(5);
    EXPECT_EQ(metrics.seconds(), 1.0);
    ASSERT_EQ(read_file(file), whole) << length << " bytes of the last line";
  }
}

// A line that cannot be read, wherever it is, is the only one lost, and is kept in another file.
TEST(MetricsFileTest, ADamagedLineIsMovedAndTheOthersStay) {
  const Scratch scratch;
  const fs::path file = scratch / "metrics.jsonl", beside = scratch / "metrics.jsonl.damaged";
  std::string moved;
  for (const std::string damaged :
       {R"({"iteration":3,"hops")", "", "[3]", "3", R"({"seconds":1.0})", R"({"iteration":"3"})",
        R"({"iteration":null})", R"({"iteration":2.5})", "\x01\xff"}) {
    SCOPED_TRACE(damaged);
    write_file(file, metrics_text(1, 2) + damaged + "\n" + metrics_text(4, 9));
    MetricsFile metrics(file);
    metrics.on_start(8);
    EXPECT_EQ(read_file(file), metrics_text(1, 2) + metrics_text(4, 8));
    EXPECT_EQ(metrics.seconds(), 2.0);
    moved += damaged + "\n";
    EXPECT_EQ(read_file(beside), moved);
    EXPECT_NE(metrics.warning().find("had 1 lines that cannot be read"), std::string::npos);
    metrics.on_start(8);
    EXPECT_EQ(metrics.warning(), "");
    EXPECT_EQ(read_file(beside), moved);
  }
  // No other number of a line is needed.
  write_file(file, R"({"iteration":1,"seconds":"x"})"
                   "\n"
                   R"({"iteration":2,"seconds":null})"
                   "\n");
  MetricsFile metrics(file);
  metrics.on_start(8);
  EXPECT_EQ(metrics.seconds(), 0);
  EXPECT_EQ(metrics.warning(), "");
}

// A file that was removed or emptied meanwhile is no reason to fail.
TEST(MetricsFileTest, AScoreWithoutALineIsLost) {
  const Scratch scratch;
  MetricsFile metrics(scratch / "metrics.jsonl");
  metrics.on_score({.value = -1});
  EXPECT_FALSE(fs::exists(scratch / "metrics.jsonl"));
  write_file(scratch / "metrics.jsonl", "");
  metrics.on_score({.value = -1});
  EXPECT_EQ(read_file(scratch / "metrics.jsonl"), "");
}

}  // namespace
}  // namespace isinglass::metrics_file_test
