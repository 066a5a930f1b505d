// isinglass train: the run directory, interruption and resumption, bit for bit, after SIGINT and
// after kill -9 at random moments.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "tests/support/inputs.h"
#include "tests/support/json_lines.h"
#include "tests/support/program.h"

namespace isinglass::train_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kIterations = 300;

std::string train_command(const fs::path& dir, const std::string& out) {
  return "train --model rbm --hidden 4 --dataset " + (dir / "bars.pt").string() +
         " --batch 6 --buffer 20 --steps-per-iter 12 --lr 0.01 --warmup 20 --radius 2 --reinit 0.05"
         " --checkpoint-every 7 --threads 1 --quiet --iters " +
         std::to_string(kIterations) + " --out " + (dir / out).string();
}

std::string resume_command(const fs::path& out) {
  return "train --quiet --resume " + out.string();
}

std::vector<int64_t> recorded_iterations(const fs::path& out) {
  std::istringstream in(file_bytes(out / "metrics.jsonl"));
  std::vector<int64_t> iterations;
  for (std::string line; std::getline(in, line);) {
    iterations.push_back(Json::parse(line)["iteration"].get<int64_t>());
  }
  return iterations;
}

int recorded_lines(const fs::path& out) {
  return line_count(file_bytes(out / "metrics.jsonl"));
}

class Training : public ::testing::Test {
 protected:
  void SetUp() override {
    write_pt(dir_ / "bars.pt", PtValue{bars()});
    const Outcome outcome = run_program(train_command(dir_.path(), "unbroken"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  // Starts a run of the same settings that ends after 50 iterations. The estimates of the
  // likelihood are those that the longer run makes.
  void begin(const std::string& name) {
    const std::string command = train_command(dir_.path(), name);
    const Outcome outcome = run_program(command.substr(0, command.find("--iters")) +
                                        "--iters 50 --evaluate-every 30 --evaluate-steps 2 --out " +
                                        (dir_ / name).string());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  // Compares the whole state (parameters, average, moments, buffer) in the bytes of the last
  // checkpoint.
  void expect_same_end(const fs::path& out) {
    const std::string last = "00000300.pt";
    EXPECT_TRUE(fs::exists(out / "checkpoints" / last));
    EXPECT_EQ(file_bytes(out / "checkpoints" / last),
              file_bytes(dir_ / "unbroken" / "checkpoints" / last));
    for (const char* name : {"weights.pt", "ema.pt"}) {
      EXPECT_EQ(file_bytes(out / name), file_bytes(dir_ / "unbroken" / name)) << name;
    }
    std::vector<int64_t> expected(kIterations);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(recorded_iterations(out), expected);
  }

  // Kills the run at random moments: a random number of iterations and then a random time later,
  // and also while it starts. It resumes the run each time and finally lets it finish.
  void kill_and_resume(int kills, unsigned seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const fs::path out = dir_ / "broken";
    std::vector<int> moments(kills);
    for (int& moment : moments) moment = std::uniform_int_distribution(0, kIterations - 60)(random);
    std::sort(moments.begin(), moments.end());
    for (const int moment : moments) {
      Program program(words(next_command(out)));
      ASSERT_TRUE(program.reaches([&] { return recorded_lines(out) >= moment; }));
      usleep(std::uniform_int_distribution(0, 5000)(random));
      program.signal(SIGKILL);
      EXPECT_EQ(program.wait().exit_code, 128 + SIGKILL);
    }
    const Outcome outcome = run_program(next_command(out));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_same_end(out);
  }

  TemporaryDirectory dir_;

 private:
  // A run that was killed before it wrote its configuration starts over.
  std::string next_command(const fs::path& out) const {
    return fs::exists(out / "config.toml") ? resume_command(out)
                                           : train_command(dir_.path(), "broken") + " --overwrite";
  }
};

TEST_F(Training, WritesTheRunDirectory) {
  const fs::path out = dir_ / "unbroken";
  for (const char* name :
       {"config.toml", "metrics.jsonl", "weights.pt", "ema.pt", "log.txt", "data.png"}) {
    EXPECT_TRUE(fs::exists(out / name)) << name;
  }
  const NamedTensors weights = read_named_tensors(out / "weights.pt");
  ASSERT_EQ(weights.size(), 3u);
  for (const auto& entry : fs::directory_iterator(out / "checkpoints")) {
    EXPECT_EQ(entry.path().filename().string().size(), 11u) << entry.path();
  }
  const Outcome described = run_program({"inspect", out.string(), "--json", "--image", "3x3",
                                         "--out", (dir_ / "buffer.png").string()});
  ASSERT_EQ(described.exit_code, 0) << described.err;
  const Json description = Json::parse(described.out);
  EXPECT_EQ(description["kind"], "run directory");
  EXPECT_EQ(description["config"]["iters"], kIterations);
  EXPECT_EQ(description["last_metrics"]["iteration"], kIterations);
  EXPECT_TRUE(fs::exists(dir_ / "buffer.png"));
}

TEST_F(Training, InterruptedRunGoesOnBitForBit) {
  const fs::path out = dir_ / "stopped";
  Program program(words(train_command(dir_.path(), "stopped")));
  ASSERT_TRUE(program.reaches([&] { return recorded_lines(out) >= 20; }));
  program.signal(SIGINT);
  const Outcome stopped = program.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(line_count(stopped.err), 1);
  EXPECT_NE(stopped.err.find("isinglass: interrupted: "), std::string::npos) << stopped.err;
  const std::vector<int64_t> done = recorded_iterations(out);
  EXPECT_LT(done.back(), kIterations);
  EXPECT_NE(stopped.err.find("iteration " + std::to_string(done.back())), std::string::npos);
  const Outcome resumed = run_program(resume_command(out));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_same_end(out);
}

TEST_F(Training, MaxTimeEndsARunThatGoesOnBitForBit) {
  const fs::path out = dir_ / "timed";
  const Outcome timed = run_program(train_command(dir_.path(), "timed") + " --max-time 0.001");
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_EQ(recorded_iterations(out), std::vector<int64_t>{1});
  EXPECT_NE(timed.out.find("for 1 iterations of 300, until --max-time ended the run"),
            std::string::npos)
      << timed.out;
  const Outcome resumed = run_program(resume_command(out));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_same_end(out);
}

TEST_F(Training, LongRunsSayHowLongTheyTake) {
  const std::string run = "train --model rbm --hidden 4 --dataset " + (dir_ / "bars.pt").string() +
                          " --batch 6 --buffer 20 --radius 2 --threads 1 --iters ";
  const std::string said = " iterations take about ";
  // Returns what a run of 10⁸ iterations writes until it is interrupted after the fifth.
  const auto words_of = [&](const std::string& name, const std::string& flags) {
    const fs::path out = dir_ / name;
    Program program(words(run + "100000000" + flags + " --out " + out.string()));
    EXPECT_TRUE(program.reaches([&] { return recorded_lines(out) >= 5; }));
    program.signal(SIGINT);
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    return outcome.err;
  };
  const std::string longer = words_of("long", "");
  const size_t first = longer.find("isinglass: 100000000" + said);
  ASSERT_NE(first, std::string::npos) << longer;
  EXPECT_EQ(longer.find(said), longer.rfind(said)) << longer;
  EXPECT_NE(longer.find("--preset small", first), std::string::npos) << longer;
  EXPECT_EQ(words_of("quiet", " --quiet").find(said), std::string::npos);
  const Outcome shorter = run_program(run + "5 --out " + (dir_ / "short").string());
  EXPECT_EQ(shorter.exit_code, 0) << shorter.err;
  EXPECT_EQ(shorter.err.find(said), std::string::npos) << shorter.err;
}

TEST_F(Training, PresetFillsInWhatIsNotGiven) {
  const fs::path out = dir_ / "preset";
  const std::string run =
      "train --preset small --dataset " + (dir_ / "bars.pt").string() +
      " --batch 6 --buffer 20 --iters 2 --threads 1 --quiet --overwrite --out " + out.string();
  const Outcome small = run_program(run);
  ASSERT_EQ(small.exit_code, 0) << small.err;
  const std::string saved = file_bytes(out / "config.toml");
  for (const char* line : {"channels = 16\n", "radius = 8.0\n", "batch = 6\n", "buffer = 20\n",
                           "iters = 2\n", "warmup = 0\n", "ema = 0.99\n"}) {
    EXPECT_NE(saved.find(line), std::string::npos) << line << saved;
  }
  EXPECT_EQ(saved.find("preset"), std::string::npos) << saved;
  // Options of the preset's sampler and model do not apply to others.
  const Outcome other = run_program(run + " --sampler gwg --model rbm --hidden 4");
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const std::string of_other = file_bytes(out / "config.toml");
  EXPECT_NE(of_other.find("sampler = 'gwg'"), std::string::npos) << of_other;
  EXPECT_NE(of_other.find("radius = 1.0\n"), std::string::npos) << of_other;  // gwg's own default
  const Outcome unknown =
      run_program("train --preset paper-gwgs --dataset strokes --out " + (dir_ / "none").string());
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("unknown preset 'paper-gwgs'; known: paper-gwg"), std::string::npos)
      << unknown.err;
  const Outcome resumed = run_program("train --preset small --resume " + out.string());
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.err.find("--preset and --resume exclude each other"), std::string::npos)
      << resumed.err;
}

TEST_F(Training, PresetsOfThePapersHaveTheirSettings) {
  for (const auto& [preset, line] :
       {std::pair{"paper-gwg", "sampler = 'gwg'\n"}, std::pair{"paper-pas", "radius = 5.0\n"},
        std::pair{"paper-lbj", "tau = 0.03\n"}}) {
    const fs::path out = dir_ / preset;
    const Outcome made = run_program(std::string("train --preset ") + preset + " --dataset " +
                                     (dir_ / "bars.pt").string() +
                                     " --channels 2 --batch 2 --steps-per-iter 1 --max-time 0.001 "
                                     "--threads 1 --quiet --out " +
                                     out.string());
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::string saved = file_bytes(out / "config.toml");
    for (const char* same : {line, "model = 'resnet'\n", "buffer = 10000\n", "iters = 50000\n",
                             "lr = 0.0001\n", "warmup = 10000\n", "ema = 0.999\n"}) {
      EXPECT_NE(saved.find(same), std::string::npos) << same << saved;
    }
  }
}

TEST_F(Training, WarmUpFitsTheLengthOfTheRun) {
  const std::string run = "train --model rbm --hidden 4 --dataset " + (dir_ / "bars.pt").string() +
                          " --batch 6 --buffer 20 --radius 2 --threads 1 --quiet --out " +
                          (dir_ / "warm").string();
  const auto saved = [&] { return file_bytes(dir_ / "warm" / "config.toml"); };
  ASSERT_EQ(run_program(run + " --iters 30").exit_code, 0);
  EXPECT_NE(saved().find("warmup = 3\n"), std::string::npos) << saved();
  // A resumed run keeps it.
  ASSERT_EQ(run_program("train --quiet --iters 60 --resume " + (dir_ / "warm").string()).exit_code,
            0);
  EXPECT_NE(saved().find("warmup = 3\n"), std::string::npos) << saved();
}

TEST_F(Training, LargerItersExtendARun) {
  begin("extended");
  ASSERT_EQ(run_program(resume_command(dir_ / "extended") + " --iters 300").exit_code, 0);
  expect_same_end(dir_ / "extended");
}

TEST_F(Training, ADamagedCheckpointIsSaid) {
  const fs::path newest = dir_ / "unbroken/checkpoints/00000300.pt";
  fs::resize_file(newest, fs::file_size(newest) / 2);
  const Outcome outcome = run_program("train --resume " + (dir_ / "unbroken").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("isinglass: warning: " + newest.string() +
                             " is damaged and was set aside as *.unreadable; training goes on from "
                             "iteration 294, so that 6 iterations are lost and made again\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_TRUE(fs::exists(newest));
}

TEST_F(Training, ResumedRunKeepsItsSettings) {
  for (const std::string flags :
       {"--lr 0.5", "--seed 3", "--batch 5", "--iters 299", "--out elsewhere"}) {
    const Outcome outcome = run_program(resume_command(dir_ / "unbroken") + " " + flags);
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(flags.substr(0, flags.find(' '))), std::string::npos) << outcome.err;
  }
  expect_same_end(dir_ / "unbroken");
}

// On another machine the data may lie elsewhere; they are recognised by their hash.
TEST_F(Training, DataMayHaveMoved) {
  begin("moved");
  const Outcome resumed = run_program(resume_command(dir_ / "moved") + " --iters 300 --data-dir " +
                                      dir_.path().string());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_same_end(dir_ / "moved");
}

// A run that is known to have missed a mode can be repaired by tempered chains, without starting
// over.
TEST_F(Training, TemperedChainsMayJoinARun) {
  begin("tempered");
  const fs::path out = dir_ / "tempered";
  const Outcome resumed = run_program(resume_command(out) + " --iters 300 --rungs 4");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(file_bytes(out / "config.toml").find("rungs = 4"), std::string::npos);
  std::istringstream metrics(file_bytes(out / "metrics.jsonl"));
  int64_t with = 0, without = 0;
  for (std::string line; std::getline(metrics, line);) {
    ++(line.find("\"swaps\"") == std::string::npos ? without : with);
  }
  EXPECT_GT(with, 0);
  EXPECT_GT(without, 0);
  EXPECT_EQ(with + without, 300);
}

TEST_F(Training, ConfigurationRepeatsTheRun) {
  const Outcome outcome =
      run_program({"train", "--quiet", "--config", (dir_ / "unbroken" / "config.toml").string(),
                   "--out", (dir_ / "again").string()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_same_end(dir_ / "again");
}

// Without --evaluate-every a run with validation images estimates their likelihood ten times, at a
// tenth of the cost of its 300 · 12 · 6 steps: 10 · 100 · 2 steps.
TEST_F(Training, EstimatesTheValidationLikelihoodTenTimes) {
  const std::vector<Json> lines = json_lines(dir_ / "unbroken" / "metrics.jsonl");
  ASSERT_EQ(lines.size(), kIterations);
  for (const Json& line : lines) {
    EXPECT_EQ(line.contains("validation_score"), line["iteration"].get<int64_t>() % 30 == 0);
  }
  const std::string config = file_bytes(dir_ / "unbroken" / "config.toml");
  EXPECT_NE(config.find("evaluate-every = 30\nevaluate-steps = 2\n"), std::string::npos) << config;
  const Outcome without =
      run_program(train_command(dir_.path(), "without") + " --evaluate-every 0");
  ASSERT_EQ(without.exit_code, 0) << without.err;
  for (const Json& line : json_lines(dir_ / "without" / "metrics.jsonl")) {
    EXPECT_FALSE(line.contains("validation_score"));
  }
  EXPECT_EQ(file_bytes(dir_ / "without" / "ema.pt"), file_bytes(dir_ / "unbroken" / "ema.pt"));
}

// A residual model learns against its base. Its scores come from weights of draws of the base.
TEST_F(Training, NoiseContrastiveEstimationOnABase) {
  const fs::path base = dir_ / "unbroken" / "ema.pt";
  const std::string train = "train --objective nce --dataset " + (dir_ / "bars.pt").string() +
                            " --base-model rbm=" + base.string() +
                            " --network mlp --bound 6 --base-log-z 5 --batch 6 --warmup 0 --lr 0.01"
                            " --evaluate-every 4 --checkpoint-every 4 --threads 1 --quiet";
  const auto run = [](const std::string& command) {
    const Outcome outcome = run_program(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  };
  const fs::path whole = dir_ / "nce", part = dir_ / "nce-part";
  run(train + " --iters 12 --out " + whole.string());
  run(train + " --iters 6 --out " + part.string());
  run(resume_command(part) + " --iters 12");
  EXPECT_EQ(file_bytes(whole / "ema.pt"), file_bytes(part / "ema.pt"));
  const Json last = json_lines(whole / "metrics.jsonl").back();
  for (const char* name : {"loss", "accuracy", "log_ratio_data", "near_bound", "validation_score",
                           "validation_standard_error", "validation_weight_ess"}) {
    EXPECT_TRUE(last.contains(name)) << name;
  }
  EXPECT_EQ(last["validation_verdict"], "open: importance weights of the base alone");
  EXPECT_NE(file_bytes(whole / "config.toml").find("steps-per-iter = 5"), std::string::npos);
  // Without --base-log-z-error its likelihoods can be evaluated, and their verdict is open.
  const Outcome open = run_program("evaluate --weights " + (whole / "ema.pt").string() +
                                   " --dataset " + (dir_ / "bars.pt").string() +
                                   " --chains 20 --steps 100 --json --threads 1 --out " +
                                   (dir_ / "nce-likelihood").string());
  EXPECT_EQ(open.exit_code, 0) << open.err;
  EXPECT_EQ(Json::parse(open.out)["verdict"], "open");
  EXPECT_NE(open.err.find("the standard error of the base's log Z is not known"), std::string::npos)
      << open.err;
  const Outcome other =
      run_program("train --objective nce --model rbm --dataset " + (dir_ / "bars.pt").string() +
                  " --iters 3 --out " + (dir_ / "other").string());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("--objective nce trains a residual model; --model is rbm"),
            std::string::npos)
      << other.err;
}

TEST_F(Training, DivergenceIsExitCodeThree) {
  const Outcome outcome =
      run_program(train_command(dir_.path(), "diverged") + " --recover 0 --l2 1e300");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("iteration"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("; start again with a lower --lr, because only"), std::string::npos)
      << outcome.err;
  EXPECT_TRUE(fs::exists(dir_ / "diverged" / "config.toml"));
}

TEST_F(Training, ReturnsAfterADivergenceAreSaid) {
  std::string command = train_command(dir_.path(), "twice") + " --recover 2 --l2 1e300";
  command.erase(command.find(" --quiet"), std::string_view(" --quiet").size());
  const Outcome outcome = run_program(command);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  const std::string said = "isinglass: training diverged and continues from iteration 0; ";
  const size_t first = outcome.err.find(said), second = outcome.err.find(said, first + 1);
  EXPECT_NE(second, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(said, second + 1), std::string::npos) << outcome.err;
}

TEST_F(Training, FullDiskBeforeTheFirstCheckpointLeavesNothing) {
  const Outcome outcome = run_program(train_command(dir_.path(), "full"), {.largest_file = 1500});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  EXPECT_FALSE(fs::exists(dir_ / "full"));
}

TEST_F(Training, KilledAtThreeRandomMoments) {
  kill_and_resume(3, 20261121);
}

using TrainingLong = Training;

TEST_F(TrainingLong, KilledAtTwentyRandomMoments) {
  kill_and_resume(20, 20261122);
}

TEST_F(Training, StartsFromGivenParameters) {
  const std::string weights = (dir_ / "unbroken" / "weights.pt").string();
  const Outcome tuned = run_program(train_command(dir_.path(), "tuned") + " --weights " + weights);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const PtValue first = read_pt(dir_ / "tuned" / "checkpoints" / "00000000.pt");
  const PtDict& start = std::get<PtDict>(first.value);
  const auto entry = [&](const std::string& name) -> const PtValue& {
    return std::find_if(start.begin(), start.end(), [&](auto& e) { return e.first == name; })
        ->second;
  };
  const NamedTensors given = read_named_tensors(weights);
  for (const char* name : {"parameters", "averages"}) {
    for (const auto& [key, value] : std::get<PtDict>(entry(name).value)) {
      const auto same =
          std::find_if(given.begin(), given.end(), [&](auto& e) { return e.first == key; });
      EXPECT_TRUE(torch::equal(std::get<torch::Tensor>(value.value), same->second)) << key;
    }
  }
  EXPECT_EQ(std::get<torch::Tensor>(entry("adam_step").value).item<float>(), 0);
  // Chains are initialised at training images.
  const torch::Tensor images = bars().flatten(1),
                      chains = std::get<torch::Tensor>(entry("buffer").value);
  for (int64_t n = 0; n < chains.size(0); ++n) {
    EXPECT_TRUE((images == chains[n]).all(1).any().item<bool>()) << n;
  }
  // A resumed run no longer needs the file.
  fs::remove(weights);
  const Outcome resumed = run_program(resume_command(dir_ / "tuned") + " --iters 305");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;

  const std::string ema = (dir_ / "unbroken" / "ema.pt").string();
  std::string larger = train_command(dir_.path(), "other") + " --weights " + ema;
  larger.replace(larger.find("--hidden 4"), 10, "--hidden 5");
  const Outcome other = run_program(larger);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("ema.pt: tensor '"), std::string::npos) << other.err;
}

TEST(Validation, BestParametersAreThoseOfTheBestScore) {
  const TemporaryDirectory dir;
  write_pt(dir / "bars.pt", PtValue{bars()});
  const Outcome trained = run_program(
      "train --model rbm --hidden 4 --dataset bars.pt --batch 6 --buffer 20 --steps-per-iter 5 "
      "--lr 0.02 --warmup 0 --radius 2 --ema 0.9 --iters 90 --evaluate-every 30 --evaluate-steps "
      "300 "
      "--quiet --out run",
      {.directory = dir.path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  double best = -INFINITY, ess = 0;
  int scored = 0;
  for (const Json& line : json_lines(dir / "run" / "metrics.jsonl")) {
    EXPECT_EQ(line.contains("validation_score"), line["iteration"].get<int>() % 30 == 0);
    if (!line.contains("validation_score")) continue;
    ++scored;
    const double score = line["validation_score"];
    if (score > best) ess = line["validation_weight_ess"];
    best = std::max(best, score);
  }
  EXPECT_EQ(scored, 3);
  ASSERT_GE(ess, 10);
  const Outcome evaluated = run_program(
      "evaluate --model rbm --weights run/best.pt --dataset bars.pt --chains 400 --steps 1000 "
      "--sampler pafs --radius 2 --quiet --json --out ais",
      {.directory = dir.path()});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json ais = Json::parse(evaluated.out);
  // Standard error by the delta method from the 100 weights of the quick estimate.
  const double se = std::sqrt(std::pow(ais["log_z_se"].get<double>(), 2) + 1 / ess - 1.0 / 100);
  EXPECT_NEAR(ais["log_likelihood"]["validation"]["forward"].get<double>(), best, 4 * se);
}

TEST(Validation, StopsInTheMiddle) {
  const TemporaryDirectory dir;
  write_pt(dir / "bars.pt", PtValue{bars()});
  Program program(words("train --model rbm --hidden 4 --dataset bars.pt --batch 6 --buffer 20 "
                        "--steps-per-iter 5 --radius 2 --iters 9 --evaluate-every 3 "
                        "--evaluate-steps 1000000000 --quiet --out run"),
                  {.directory = dir.path()});
  ASSERT_TRUE(program.reaches([&] { return recorded_lines(dir / "run") == 2; }));
  usleep(200000);  // it anneals for days after the third iteration
  program.signal(SIGTERM);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("saved after iteration 3;"), std::string::npos) << stopped.err;
  EXPECT_TRUE(fs::exists(dir / "run" / "checkpoints" / "00000003.pt"));
  EXPECT_EQ(recorded_lines(dir / "run"), 3);
}

// Contrastive divergence trains an rbm by Gibbs sweeps from the data by default.
TEST(Contrastive, TrainsAnRbmAndGoesOn) {
  const TemporaryDirectory dir;
  write_pt(dir / "bars.pt", PtValue{bars()});
  const auto run = [&](const std::string& flags, const std::string& model = "--hidden 6 ") {
    return run_program("train --objective cd --dataset " + (dir / "bars.pt").string() +
                       " --batch 20 --steps-per-iter 2 --warmup 2 --quiet " + model + flags);
  };
  const Outcome whole = run("--iters 40 --checkpoint-every 20 --out " + (dir / "whole").string());
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string config = file_bytes(dir / "whole" / "config.toml");
  for (const char* line : {"model = 'rbm'", "sampler = 'gibbs'", "scan = 'chromatic'"}) {
    EXPECT_NE(config.find(line), std::string::npos) << config;
  }
  EXPECT_EQ(config.find("buffer"), std::string::npos) << config;
  EXPECT_EQ(read_named_tensors(dir / "whole" / "ema.pt")[0].second.size(0), 6);

  // Sweeps can sample the annealed machines, too.
  const Outcome evaluated =
      run("--iters 4 --evaluate-every 4 --evaluate-steps 50 --out " + (dir / "evaluated").string());
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_NE(file_bytes(dir / "evaluated" / "metrics.jsonl").find("\"validation"),
            std::string::npos);

  ASSERT_EQ(run("--iters 20 --out " + (dir / "parts").string()).exit_code, 0);
  const Outcome resumed =
      run_program("train --quiet --iters 40 --resume " + (dir / "parts").string());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(file_bytes(dir / "parts" / "ema.pt"), file_bytes(dir / "whole" / "ema.pt"));

  const std::string nowhere = "--out " + (dir / "none").string();
  for (const auto& [refused, words] : std::vector<std::pair<Outcome, std::string>>{
           {run(nowhere + " --buffer 50"), "--buffer cannot be combined with --objective cd"},
           {run(nowhere, "--model resnet "), "--scan chromatic needs a sparse graph"}}) {
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(line_count(refused.err), 1) << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(dir / "none"));
  }
}

}  // namespace
}  // namespace isinglass::train_test
