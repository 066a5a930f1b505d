// Grids of `isinglass ablate` whose trained cells are evaluated, as `evaluate` does it, and
// resumed.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/ablate_fixture.h"

namespace isinglass::evaluated_grid_test {
namespace {

namespace fs = std::filesystem;

const std::string kEvaluated = R"(
title = "Small RBMs"
cells = "train"
[common]
model = "rbm"
dataset = "images.pt"
hidden = 4
batch = 10
buffer = 40
warmup = 0
iters = 6
checkpoint-every = 3
[evaluate]
chains = 40
steps = 200
until-closed = 20
[evaluate.scale]
steps = [0.5, 150]
[published]
CD-1 = -125.5
[[models]]
label = "strokes"
[[samplers]]
sampler = "gibbs"
scan = "chromatic"
steps-per-iter = [1, 2]
[[claims]]
text = "more sweeps make a better model"
rule = "beats"
metric = "test_nats"
who = ["gibbs steps-per-iter=2"]
than = ["gibbs steps-per-iter=1"]
)";

class EvaluatedGrid : public Ablate {
 protected:
  // The 400 images stand for a data set. The energies of 70 000 strokes would take most of the time
  // of these tests.
  EvaluatedGrid() {
    const auto generator = torch::make_generator<at::CPUGeneratorImpl>(5);
    write_pt(images(), PtValue{(torch::rand({400, 16, 16}, generator) < 0.3).to(torch::kUInt8)});
    write(kEvaluated);
  }
  fs::path images() const { return folder / "images.pt"; }
  void write(std::string text) {
    const std::string name = "images.pt";
    text.replace(text.find(name), name.size(), images().string());
    write_text(folder / "grid.toml", text);
  }

  static std::string with(const std::string& was, const std::string& is) {
    std::string text = kEvaluated;
    text.replace(text.find(was), was.size(), is);
    return text;
  }
};

TEST_F(EvaluatedGrid, HasTheLikelihoodsOfEvaluate) {
  const Outcome done = run(grid() + " --seed 5");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json metrics = json_file(folder / "out/results.json")["rows"][1]["metrics"];
  const Outcome evaluated = run_program(fmt::format(
      "evaluate --weights {0}/out/runs/00002/ema.pt --dataset {0}/images.pt "
      "--sampler gibbs --scan chromatic --chains 40 --steps 200 --until-closed 20 --seed 5 --quiet "
      "--out {0}/one",
      folder.path().string()));
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json one = json_file(folder / "one/ais.json");
  ASSERT_EQ(one["verdict"], "closed") << one["reason"];
  const Json test = one["log_likelihood"]["test"];
  EXPECT_EQ(metrics["test_above"], test["forward"]);
  EXPECT_EQ(metrics["test_below"], test["reverse"]);
  EXPECT_EQ(metrics["test_nats"], test["bidirectional"]);
  EXPECT_NEAR(metrics["test_nats_se"].get<double>(), std::abs(one["bracket"].get<double>()) / 2,
              1e-9);
  EXPECT_EQ(metrics["validation_nats"], one["log_likelihood"]["validation"]["bidirectional"]);
  EXPECT_FALSE(fs::exists(folder / "out/runs/00002/evaluation.pt"));
  const std::string page = file_bytes(folder / "out/report.html");
  for (const char* part : {"log-likelihood of test images", "CD-1", "-125.5", "more sweeps"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

// An open bracket has two ends, but no likelihood.
TEST_F(EvaluatedGrid, SaysNoNumberOfAnOpenBracket) {
  write(with("chains = 40\nsteps = 200\nuntil-closed = 20",
             "chains = 4\nsteps = 200\nreverse = true"));
  ASSERT_EQ(run(grid() + " --scale 0.01").exit_code, 0);
  const Json results = json_file(folder / "out/results.json");
  const Json metrics = results["rows"][0]["metrics"];
  EXPECT_TRUE(metrics["test_nats"].is_null());
  EXPECT_TRUE(metrics["test_above"].is_number());
  EXPECT_EQ(results["claims"][0]["verdict"], "undecided");
  EXPECT_EQ(json_file(folder / "out/cells/00001.json")["evaluation"]["steps"], 150);
  EXPECT_NE(file_bytes(folder / "out/report.html")
                .find("evaluation's steps times scale^0.5, at least 150"),
            std::string::npos);
}

// A grid interrupted in an evaluation resumes there and gives the same numbers.
TEST_F(EvaluatedGrid, AnInterruptedEvaluationGoesOn) {
  write(with("steps = 200\nuntil-closed = 20", "steps = 10000\nreverse = true"));
  ASSERT_EQ(run(grid(), "whole").exit_code, 0);
  const fs::path first = folder / "out/runs/00001";
  {
    Program stopped(
        words(fmt::format("ablate --quiet --out {} {}", (folder / "out").string(), grid())));
    ASSERT_TRUE(stopped.reaches([&] { return fs::exists(first / "samples/00000006.png"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // after the energies of the data
    stopped.signal(SIGINT);
    stopped.wait();
  }
  ASSERT_TRUE(fs::exists(first / "evaluation.pt"));
  const Outcome done = run_program("ablate --quiet --resume " + (folder / "out").string());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto ends = [&](const char* out) {
    const Json metrics = json_file(folder / out / "results.json")["rows"][0]["metrics"];
    return std::pair(metrics["test_above"], metrics["test_below"]);
  };
  EXPECT_EQ(ends("out"), ends("whole"));
}

// A failure outside of training loses nothing of it, and the cell runs again.
TEST_F(EvaluatedGrid, AFailedEvaluationKeepsTheTraining) {
  write(with("steps = 200\nuntil-closed = 20", "steps = 10000\nreverse = true"));
  const fs::path first = folder / "out/runs/00001";
  {
    Program stopped(
        words(fmt::format("ablate --quiet --out {} {}", (folder / "out").string(), grid())));
    ASSERT_TRUE(stopped.reaches([&] { return fs::exists(first / "samples/00000006.png"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stopped.signal(SIGINT);
    stopped.wait();
  }
  write_text(first / "evaluation.pt", "no evaluation");
  const std::string resume = "ablate --resume " + (folder / "out").string();
  ASSERT_EQ(run_program(resume).exit_code, 0);
  const Json failed = json_file(folder / "out/results.json")["rows"][0];
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_NE(failed["error"].get<std::string>().find("evaluation.pt"), std::string::npos)
      << failed["error"];
  ASSERT_TRUE(fs::exists(first / "checkpoints"));
  fs::remove(first / "evaluation.pt");
  const Outcome done = run_program(resume);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.err.find("1 cells are run again because they had failed"), std::string::npos)
      << done.err;
  EXPECT_EQ(json_file(folder / "out/results.json")["rows"][0]["status"], "done");
  EXPECT_FALSE(fs::exists(first / "checkpoints"));
}

TEST_F(EvaluatedGrid, RefusesWhatTheCellSays) {
  write(with("chains = 40", "chains = 40\nmodel = \"rbm\""));
  const Outcome outcome = run(grid(), "no");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--model must not be given here, because the cell determines it"),
            std::string::npos)
      << outcome.err;
  write(with("chains = 40", "chainz = 40"));
  EXPECT_NE(run(grid(), "no").err.find("unknown key 'chainz'"), std::string::npos);
}

}  // namespace
}  // namespace isinglass::evaluated_grid_test
