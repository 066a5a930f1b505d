// The files that remain of a run: saved work survives any later failure, --overwrite removes runs
// and nothing else, and a second signal ends the program at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::saved_work_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

class InAFolder : public ::testing::Test {
 protected:
  InAFolder() {
    write_ising(dir_ / "ising.pt");
    write_pt(dir_ / "bars.pt", PtValue{bars()});
  }

  Outcome run(const std::string& arguments) const {
    return run_program(arguments + " --quiet", {.directory = dir_.path()});
  }
  void expect_done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  }
  // Expects exit code 2 and one line on stderr that contains all of the words.
  void expect_refused(const Outcome& outcome, const std::vector<std::string>& words) const {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    for (const std::string& word : words) {
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.err;
    }
  }

  // Starts the program, puts a folder where the run will want to write a file, and waits.
  Outcome run_with_a_folder_at(const std::string& name, const std::string& arguments) const {
    Program program(words(arguments + " --quiet --out " + (dir_ / "out").string()));
    const fs::path folder = dir_ / "out" / name;
    EXPECT_TRUE(program.reaches([&] {
      return fs::exists(dir_ / "out" / "config.toml") && fs::exists(folder.parent_path());
    }));
    fs::create_directory(folder);
    return program.wait();
  }

  bool exists(const std::string& name) const { return fs::exists(dir_ / name); }
  std::string weights() const { return "--model ising --weights " + (dir_ / "ising.pt").string(); }

  TemporaryDirectory dir_;
};

using SavedWork = InAFolder;

TEST_F(SavedWork, AnnealingOutlivesWhatFailsAfterIt) {
  const std::string command =
      "evaluate " + weights() +
      " --chains 50 --steps 9000 --schedule linear --sampler gwg --no-reverse --threads 1";
  expect_done(command + " --out whole");
  const Outcome failed = run_with_a_folder_at("chains.pt", command);
  expect_refused(failed,
                 {"chains.pt", "ais-checkpoint.pt holds 10000 of 10000 steps",
                  "isinglass evaluate --resume " + (dir_ / "out").string() + " continues the run"});
  ASSERT_TRUE(exists("out/ais-checkpoint.pt"));
  fs::remove(dir_ / "out/chains.pt");
  expect_done("evaluate --resume out");
  Json resumed = Json::parse(file_bytes(dir_ / "out/ais.json"));
  Json whole = Json::parse(file_bytes(dir_ / "whole/ais.json"));
  resumed.erase("seconds");
  whole.erase("seconds");
  EXPECT_EQ(resumed, whole);
  EXPECT_EQ(file_bytes(dir_ / "out/chains.pt"), file_bytes(dir_ / "whole/chains.pt"));
  EXPECT_FALSE(exists("out/ais-checkpoint.pt"));
}

TEST_F(SavedWork, AnnealingOutlivesAFullDisk) {
  Program program(words("evaluate " + weights() + " --chains 50 --steps 9000 --threads 1 --quiet" +
                        " --sampler gwg --out " + (dir_ / "out").string()));
  ASSERT_TRUE(program.reaches([&] { return exists("out/config.toml"); }));
  usleep(50000);
  program.signal(SIGINT);
  ASSERT_EQ(program.wait().exit_code, 130);
  const std::string checkpoint = file_bytes(dir_ / "out/ais-checkpoint.pt");
  ASSERT_FALSE(checkpoint.empty());
  const Outcome full =
      run_program("evaluate --quiet --resume out", {.largest_file = 900, .directory = dir_.path()});
  expect_refused(full, {"ais-checkpoint.pt"});
  EXPECT_EQ(file_bytes(dir_ / "out/ais-checkpoint.pt"), checkpoint);
  EXPECT_FALSE(exists("out/ais-checkpoint.pt.part"));
  expect_done("evaluate --resume out");
}

TEST_F(SavedWork, DrawsOutliveWhatFailsAfterThem) {
  const Outcome failed = run_with_a_folder_at(
      "summary.json",
      "sample " + weights() + " --sampler gwg --steps 20000 --thin 100 --threads 1");
  expect_refused(failed,
                 {"summary.json", "the draws are kept in", (dir_ / "out/samples.pt").string()});
  const PtValue draws = read_pt(dir_ / "out/samples.pt");
  ASSERT_TRUE(draws.is_dict());
  EXPECT_EQ(std::get<torch::Tensor>(std::get<PtDict>(draws.value).at(0).second.value).size(0), 200);
}

TEST_F(SavedWork, CheckpointsOfTrainingOutliveWhatFailsAfterThem) {
  const Outcome failed = run_with_a_folder_at(
      "checkpoints/00000300.pt",
      "train --model rbm --hidden 4 --dataset " + (dir_ / "bars.pt").string() +
          " --batch 6 --buffer 20 --steps-per-iter 12 --iters 300 --checkpoint-every 100");
  expect_refused(failed,
                 {"00000300.pt", "00000200.pt is kept",
                  "isinglass train --resume " + (dir_ / "out").string() + " continues the run"});
  fs::remove(dir_ / "out/checkpoints/00000300.pt");
  expect_done("train --resume out");
}

using Overwrite = InAFolder;

const std::string kSample =
    "sample --model ising --weights ising.pt --sampler gwg --steps 3 --chains 2 --out ";

// Other files of the user have names that some run would write.
TEST_F(Overwrite, LeavesWhatIsOfNoRun) {
  fs::create_directories(dir_ / "samples");
  fs::create_directories(dir_ / "cells");
  fs::create_directories(dir_ / "checkpoints");
  const std::vector<std::string> own = {"samples/photo.png", "cells/00001.json", "log.txt",
                                        "checkpoints/00000001.pt", "results.csv"};
  for (const std::string& name : own) write_text(dir_ / name, "mine");
  expect_done(kSample + ".");
  expect_refused(run(kSample + "."), {"already holds a run", "--overwrite"});
  expect_done(kSample + ". --overwrite");
  for (const std::string& name : own) EXPECT_EQ(file_bytes(dir_ / name), "mine") << name;

  // A run that would write there is refused, whether or not the run of another command is there,
  // too.
  const std::string train =
      "train --model rbm --hidden 3 --dataset bars.pt --iters 2 --batch 5 "
      "--buffer 10 --steps-per-iter 1 --out . --overwrite";
  expect_refused(run(train), {"log.txt", "does not belong to a run of this program"});
  EXPECT_TRUE(exists("summary.json"));
  fs::remove(dir_ / "config.toml");
  expect_refused(run(train), {"log.txt", "does not belong to a run of this program"});
  expect_refused(run(kSample + ". --overwrite"),
                 {"samples.pt", "does not belong to a run of this program"});
  EXPECT_TRUE(exists("summary.json"));
  for (const std::string& name : own) EXPECT_EQ(file_bytes(dir_ / name), "mine") << name;
}

TEST_F(Overwrite, RemovesAllThatARunWrote) {
  const std::string train =
      "train --model rbm --hidden 3 --dataset bars.pt --iters 2 --batch 5 "
      "--buffer 10 --steps-per-iter 1 --out out";
  expect_done(train);
  expect_done("report out");
  write_text(dir_ / "out/samples/mine.png", "mine");
  write_text(dir_ / "out/notes.txt", "mine");
  write_text(dir_ / "out/ema.pt.part", "of a killed process");
  expect_done(kSample + "out --overwrite --no-samples");
  std::vector<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "out")) {
    if (entry.is_regular_file()) left.push_back(fs::relative(entry, dir_ / "out").string());
  }
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"config.toml", "notes.txt", "samples/mine.png",
                                            "summary.json"}));

  expect_done(
      "bench --model ising --weights ising.pt --chains 2 --stages energy --profile "
      "--repeats 2 --out bench");
  expect_done("report bench");
  ASSERT_TRUE(exists("bench/profile.json"));
  expect_done(kSample + "bench --overwrite --no-samples");
  EXPECT_FALSE(exists("bench/profile.json") || exists("bench/report.html") ||
               exists("bench/bench.json"));
}

// A config.toml that this program did not write does not make a directory a run.
TEST_F(Overwrite, AForeignConfigurationIsNoRun) {
  fs::create_directories(dir_ / "own");
  for (const std::string text : {"seed = 1\n", "# isinglass\nseed = 1\n", ""}) {
    write_text(dir_ / "own/config.toml", text);
    expect_refused(run(kSample + "own --overwrite"), {"config.toml", "does not belong to a run"});
    EXPECT_EQ(file_bytes(dir_ / "own/config.toml"), text);
  }
}

// A failed run removes only its own files.
TEST_F(Overwrite, AFailedRunLeavesWhatWasThere) {
  write_text(dir_ / "log.txt", "mine");
  const Outcome failed = run_program(
      "sample --model ising --weights ising.pt --sampler gwg --steps 100 --chains 20 --quiet --out "
      ".",
      {.largest_file = 3000, .directory = dir_.path()});
  EXPECT_EQ(failed.exit_code, 2) << failed.err;
  EXPECT_FALSE(exists("config.toml"));
  EXPECT_EQ(file_bytes(dir_ / "log.txt"), "mine");
  EXPECT_TRUE(exists("ising.pt"));
}

using SecondSignal = InAFolder;

// The graph is a pipe that is never written to, so that no loop checks the stop flag.
TEST_F(SecondSignal, EndsWhatCannotBeStopped) {
  const fs::path pipe = dir_ / "graph.txt";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [first, second] : {std::pair(SIGINT, SIGINT), std::pair(SIGTERM, SIGTERM)}) {
    Program program(words("sample --model maxcut --weights " + pipe.string() +
                          " --sampler gwg --steps 3 --out " + (dir_ / "out").string()));
    int writer = -1;  // opens as soon as the program waits at the other end
    ASSERT_TRUE(program.reaches([&] {
      writer = open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
      return writer >= 0;
    }));
    program.signal(first);
    usleep(300000);
    EXPECT_TRUE(program.running());
    program.signal(second);
    const Outcome outcome = program.wait();
    close(writer);
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("isinglass: interrupted: a second signal ended the run at once"),
              std::string::npos);
    EXPECT_FALSE(exists("out"));
  }
}

// The signal arrives while a large file is being written.
TEST_F(SecondSignal, LeavesNoHalfWrittenFile) {
  Program program(
      words("sample --instance ising-grid:side=100,coupling=0.4 --sampler rwm "
            "--chains 100 --steps 150 --quiet --out " +
            (dir_ / "out").string()));
  ASSERT_TRUE(program.reaches([&] { return exists("out/samples.pt.part"); }));
  program.signal(SIGINT);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().exit_code, 130);
  EXPECT_FALSE(exists("out/samples.pt.part"));
  EXPECT_FALSE(exists("out/samples.pt"));
  EXPECT_TRUE(exists("out/config.toml"));
  expect_done(kSample + "out --overwrite");
}

}  // namespace
}  // namespace isinglass::saved_work_test
