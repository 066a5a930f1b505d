// Grids of `isinglass ablate` with training cells, which are runs of `train` and can be resumed.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/ablate_fixture.h"

namespace isinglass::learning_grid_test {
namespace {

namespace fs = std::filesystem;

const std::string kLearning = R"(
title = "A ring of spins"
cells = "train"
repeats = 2
[scale]
iters = [0.5, 30]
lr = -0.25
[common]
model = "ising"
base = false
l1 = 0.001
batch = 20
buffer = 40
lr = 1e-2
warmup = 0
iters = 40
checkpoint-every = 10
[[models]]
label = "torus"
dataset = "ising-grid:side=4,coupling=0.3,periodic=1"
[models.small]
below = 0.5
label = "small torus"
dataset = "ising-grid:side=3,coupling=0.3,periodic=1"
[[samplers]]
sampler = "gwg"
steps-per-iter = [1, 4]
[[samplers]]
sampler = "pas"
radius = 2
steps-per-iter = 2
[[claims]]
text = "longer paths move further"
rule = "beats"
metric = "coupling_rmse"
who = ["pas"]
than = ["gwg steps-per-iter=4"]
)";

class LearningGrid : public Ablate {
 protected:
  LearningGrid() { write_text(folder / "grid.toml", kLearning); }

  void write_slow_grid() {
    std::string slow = kLearning;
    slow.replace(slow.find("iters = 40"), 10, "iters = 400");
    write_text(folder / "grid.toml", slow);
  }

  // Runs the grid into out/ and kills it once the file exists.
  void kill_at(const fs::path& file) {
    Program killed(words(
        fmt::format("ablate --quiet --repeats 1 --out {} {}", (folder / "out").string(), grid())));
    ASSERT_TRUE(killed.reaches([&] { return fs::exists(file); }));
    killed.signal(SIGKILL);
    killed.wait();
  }
};

// The mean over the last tenth of a run's lines.
double late_rmse(const fs::path& metrics, int lines) {
  std::istringstream in(file_bytes(metrics));
  double sum = 0;
  int number = 0;
  const int late = lines / 10;
  for (std::string line; std::getline(in, line);) {
    if (++number > lines - late) sum += Json::parse(line)["coupling_rmse"].get<double>();
  }
  return sum / late;
}

TEST_F(LearningGrid, CellsAreRunsOfTrain) {
  const Outcome done = run(grid() + " --seed 7");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json results = json_file(folder / "out/results.json");
  ASSERT_EQ(results["rows"].size(), 6u);
  EXPECT_EQ(results["failed"], 0) << results["rows"];
  const Json row = results["rows"][3];  // gwg, 4 steps, second repeat
  EXPECT_EQ(row["model"], "torus");
  EXPECT_EQ(row["settings"]["steps-per-iter"], "4");
  EXPECT_EQ(row["repeat"], 1);

  const Outcome train = run_program(fmt::format(
      "train --model ising --no-base --l1 0.001 --batch 20 --buffer 40 --lr 1e-2 --warmup 0 "
      "--iters 40 --checkpoint-every 10 --sampler gwg --steps-per-iter 4 --seed 8 --quiet "
      "--dataset ising-grid:side=4,coupling=0.3,periodic=1 --out {}/one",
      folder.path().string()));
  ASSERT_EQ(train.exit_code, 0) << train.err;
  EXPECT_DOUBLE_EQ(row["metrics"]["coupling_rmse"].get<double>(),
                   late_rmse(folder / "one/metrics.jsonl", 40));
  EXPECT_EQ(file_bytes(folder / "out/runs/00005/ema.pt"), file_bytes(folder / "one/ema.pt"));
  EXPECT_EQ(row["metrics"]["divergences"], 0);
  EXPECT_FALSE(fs::exists(folder / "out/runs/00005/checkpoints"));

  const std::string page = file_bytes(folder / "out/report.html");
  for (const char* part : {"RMSE of the couplings while they are learned", "against steps-per-iter",
                           "Chains at the end", "longer paths move further"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(file_bytes(folder / "out/results.csv").find(",coupling_rmse,"), std::string::npos);
}

// Scales are those of the rules in the file, which the page states.
TEST_F(LearningGrid, ScalesByItsRules) {
  ASSERT_EQ(run(grid() + " --scale 0.01 --repeats 1").exit_code, 0);
  const Json cell = json_file(folder / "out/cells/00001.json");
  EXPECT_EQ(cell["model"], "small torus");
  EXPECT_EQ(cell["learning"]["iters"], 30);
  EXPECT_NEAR(cell["learning"]["lr"].get<double>(), 1e-2 * std::pow(0.01, -0.25), 1e-12);
  EXPECT_EQ(cell["learning"]["batch"], 20);
  const std::string page = file_bytes(folder / "out/report.html");
  EXPECT_NE(page.find("iters times scale^0.5, at least 30"), std::string::npos);
  EXPECT_NE(page.find("small torus for torus"), std::string::npos);
  EXPECT_EQ(json_file(folder / "out/results.json")["smaller"], (Json{{"small torus", "torus"}}));
}

// A grid killed in the middle of a cell resumes at the latest checkpoint and gives the same bits.
TEST_F(LearningGrid, AKilledCellGoesOnAtItsCheckpoint) {
  write_slow_grid();
  ASSERT_EQ(run(grid() + " --repeats 1", "whole").exit_code, 0);
  const fs::path second = folder / "out/runs/00002";
  kill_at(second / "checkpoints/00000050.pt");
  ASSERT_FALSE(fs::exists(folder / "out/cells/00002.json"));
  const std::string first = file_bytes(folder / "out/cells/00001.json");
  const Outcome done = run_program("ablate --quiet --resume " + (folder / "out").string());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(file_bytes(folder / "out/cells/00001.json"), first);
  EXPECT_NE(file_bytes(second / "log.txt").find("resumed"), std::string::npos);
  EXPECT_EQ(file_bytes(second / "ema.pt"), file_bytes(folder / "whole/runs/00002/ema.pt"));
  const auto rmse = [&](const char* out) {
    return json_file(folder / out / "results.json")["rows"][1]["metrics"]["coupling_rmse"];
  };
  EXPECT_EQ(rmse("out"), rmse("whole"));
}

// A cell that another program has trained in part is not resumed, and not dropped without a
// message.
TEST_F(LearningGrid, AHalfTrainedCellOfAnotherProgramIsNamed) {
  write_slow_grid();
  const fs::path second = folder / "out/runs/00002";
  kill_at(second / "checkpoints/00000050.pt");
  Json cell = json_file(second / "cell.json");
  cell["identity"]["program"] = "1f2e3d";
  write_text(second / "cell.json", cell.dump());
  const Outcome done = run_program("ablate --resume " + (folder / "out").string());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(
      done.err.find("1 cells are run again because they are half-trained, by another program"),
      std::string::npos)
      << done.err;
  EXPECT_EQ(file_bytes(second / "log.txt").find("resumed"), std::string::npos);
}

// The page lists the evaluations that gave no likelihood, with the reason; their settings have no
// number.
TEST_F(LearningGrid, AnOpenEvaluationIsGivenWithItsReason) {
  write_text(folder / "grid.toml", kLearning + "[evaluate]\nchains = 4\nsteps = 10\n");
  const Outcome done = run(grid() + " --repeats 1");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json result = json_file(folder / "out/cells/00001.json")["evaluation_result"];
  ASSERT_EQ(result["verdict"], "open") << result;
  const std::string page = file_bytes(folder / "out/report.html");
  EXPECT_NE(page.find("Evaluations that stayed open"), std::string::npos);
  EXPECT_NE(page.find(result["reason"].get<std::string>()), std::string::npos) << result["reason"];
  const Json row = json_file(folder / "out/results.json")["rows"][0];
  EXPECT_TRUE(row["metrics"].value("test_nats", Json()).is_null());
}

TEST_F(LearningGrid, IsOverwrittenWholly) {
  ASSERT_EQ(run(grid() + " --repeats 1").exit_code, 0);
  ASSERT_TRUE(fs::exists(folder / "out/runs/00003/ema.pt"));
  write_text(folder / "other.toml", kGrid);
  const Outcome other = run("--overwrite --grid " + (folder / "other.toml").string());
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_FALSE(fs::exists(folder / "out/runs"));
}

TEST_F(LearningGrid, WhatDivergesFailsAlone) {
  std::string wild = kLearning;
  wild.replace(
      wild.find("[[claims]]"), std::string::npos,
      "[[samplers]]\nlabel = \"wild\"\nsampler = \"gwg\"\nlr = 1e6\nl2 = 1e300\nrecover = 0\n");
  write_text(folder / "grid.toml", wild);
  ASSERT_EQ(run(grid()).exit_code, 0);
  const Json results = json_file(folder / "out/results.json");
  EXPECT_EQ(results["failed"], 2);
  const Json row = results["rows"][6];
  EXPECT_EQ(row["status"], "failed");
  EXPECT_NE(row["error"].get<std::string>().find("diverged"), std::string::npos) << row;
  EXPECT_EQ(row["metrics"]["divergences"], 1);
}

TEST_F(LearningGrid, RefusesWhatIsOfOtherGrids) {
  const auto refused = [&](const std::string& flags, const std::string& words) {
    const Outcome outcome = run(grid() + flags, "no");
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  };
  refused(" --until-converged 5", "applies to grids whose cells sample");
  const auto with = [&](const std::string& was, const std::string& is, const std::string& words) {
    std::string text = kLearning;
    text.replace(text.find(was), was.size(), is);
    write_text(folder / "grid.toml", text);
    refused("", words);
  };
  with("cells = \"train\"", "cells = \"dream\"", "cells is 'dream'; it must be sample or train");
  with("lr = -0.25", "sampler = 1", "sampler is not a numeric option of train");
  with("lr = -0.25", "lr = [1]", "lr must be an exponent or [exponent, least]");
  with("below = 0.5\n", "", "below is missing");
  with("label = \"small torus\"\n", "", "each need a label");
  with("iters = 40", "iters = 40\nseed = 3", "cells get their seeds from");
  with("l1 = 0.001", "edges = \"ring\"", "--edges is 'ring'; known: grid, all, torus");
  with("model = \"ising\"", "model = \"rbm\"\nedges = \"grid\"",
       "--edges applies to an ising only; --model is rbm");
}

}  // namespace
}  // namespace isinglass::learning_grid_test
