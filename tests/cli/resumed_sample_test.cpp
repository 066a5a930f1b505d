// Runs of isinglass sample that are killed or interrupted, or whose terminal closes: the files that
// they leave, and how they are resumed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::resumed_sample_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ResumedSample : public ::testing::Test {
 protected:
  void SetUp() override { write_rbm(dir_ / "rbm.pt"); }

  Outcome run(const std::string& arguments) const {
    return run_program("sample --quiet " + arguments, {.directory = dir_.path()});
  }
  void expect_done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  }
  // Arguments of a run that would take minutes and saves a checkpoint at every step.
  std::vector<std::string> endless(const std::string& out) const {
    return words("sample --quiet " + kRun + " --steps 2000000000 --checkpoint-every 0.001 --out " +
                 (dir_ / out).string() + " --weights " + (dir_ / "rbm.pt").string());
  }
  int64_t saved_draws(const std::string& out) const {
    int64_t draws = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(dir_ / out / "draws", missing))
      if (entry.path().extension() == ".pt") ++draws;
    return draws;
  }

  const std::string kRun = "--model rbm --sampler gwg --thin 1000000 --chains 3 --threads 1";
  TemporaryDirectory dir_;
};

// Returns the summary without the entries that depend on the clock.
Json summary_of(const fs::path& directory) {
  Json summary = Json::parse(file_bytes(directory / "summary.json"));
  for (const char* clock : {"seconds", "steps_per_second"}) summary.erase(clock);
  for (const char* clock : {"per_second", "per_second_all"}) summary["ess"].erase(clock);
  return summary;
}

// After a run is killed at two moments, its directory holds the draws up to the last checkpoint,
// and the resumed run ends with the same files as one that was never killed.
TEST_F(ResumedSample, KilledItEndsInTheSameFiles) {
  const std::string options =
      "--model rbm --weights rbm.pt --sampler pafs --adapt --chains 20 --burn-in 2000 --steps 6000 "
      "--thin 10 --threads 1";
  expect_done(options + " --out whole");
  for (const char* moment : {"out/sample-checkpoint.pt", "out/draws"}) {
    SCOPED_TRACE(moment);
    Program program(words("sample --quiet --model rbm --weights " + (dir_ / "rbm.pt").string() +
                          options.substr(options.find(" --sampler")) +
                          " --checkpoint-every 0.01 --out " + (dir_ / "out").string()));
    ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / moment); }));
    program.signal(SIGKILL);
    program.wait();
    for (const char* part : {"config.toml.part", "sample-checkpoint.pt.part", "samples.pt.part"}) {
      std::ofstream(dir_ / "out" / part) << "half a file";
    }
    for (const auto& entry : fs::directory_iterator(dir_ / "out")) {
      if (entry.path().filename() == "draws") {
        for (const auto& draws : fs::directory_iterator(entry.path())) {
          if (draws.path().extension() != ".pt") continue;
          const PtValue block = read_pt(draws.path());
          EXPECT_EQ(std::get<PtDict>(block.value).at(1).first, "samples");
        }
      }
    }
    expect_done("--resume out");
    EXPECT_EQ(file_bytes(dir_ / "out/samples.pt"), file_bytes(dir_ / "whole/samples.pt"));
    EXPECT_EQ(summary_of(dir_ / "out"), summary_of(dir_ / "whole"));
    for (const auto& entry : fs::directory_iterator(dir_ / "out")) {
      EXPECT_NE(entry.path().extension(), ".part") << entry.path();
    }
    EXPECT_FALSE(fs::exists(dir_ / "out/draws") || fs::exists(dir_ / "out/sample-checkpoint.pt"));
    const Outcome again = run("--resume out");
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_NE(again.err.find("that run is finished"), std::string::npos) << again.err;
    fs::remove_all(dir_ / "out");
  }
}

// A checkpoint that cannot be read is refused with what is left, which stays.
TEST_F(ResumedSample, ADamagedCheckpointLeavesTheDraws) {
  Program program(endless("out"));
  ASSERT_TRUE(program.reaches([&] { return saved_draws("out") > 0; }));
  program.signal(SIGKILL);
  program.wait();
  const std::string bytes = file_bytes(dir_ / "out/sample-checkpoint.pt");
  std::ofstream(dir_ / "out/sample-checkpoint.pt") << bytes.substr(0, bytes.size() / 2);
  const int64_t draws = saved_draws("out");
  const Outcome again = run("--resume out");
  EXPECT_EQ(again.exit_code, 2);
  for (const char* part : {"damaged", "the draws so far are in", "torch.load", "--overwrite"}) {
    EXPECT_NE(again.err.find(part), std::string::npos) << again.err;
  }
  EXPECT_EQ(saved_draws("out"), draws);
}

// After Ctrl-C, a batch system's signal or a closed terminal, the draws so far are saved and the
// program says how to resume.
TEST_F(ResumedSample, AnInterruptedRunSaysHowItGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    Program program(endless("out"));
    ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / "out/sample-checkpoint.pt"); }));
    program.signal(signal);
    if (signal == SIGHUP) program.signal(SIGHUP);  // the kernel's and the shell's
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find("isinglass sample --resume " + (dir_ / "out").string() +
                               " continues the run"),
              std::string::npos)
        << outcome.err;
    EXPECT_TRUE(fs::exists(dir_ / "out/samples.pt"));
    EXPECT_TRUE(fs::exists(dir_ / "out/sample-checkpoint.pt"));
    fs::remove_all(dir_ / "out");
  }
}

// Under nohup, the end of the terminal does not end the run.
TEST_F(ResumedSample, AnIgnoredHangupStaysIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  Program program(endless("out"));
  ::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / "out/sample-checkpoint.pt"); }));
  program.signal(SIGHUP);
  usleep(300000);
  EXPECT_TRUE(program.running());
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
}

// A short run writes no checkpoint, and a finished one keeps its settings.
TEST_F(ResumedSample, AShortRunLeavesItsResultsAlone) {
  expect_done("--model rbm --weights rbm.pt --sampler gwg --steps 50 --out out");
  EXPECT_FALSE(fs::exists(dir_ / "out/sample-checkpoint.pt"));
  EXPECT_FALSE(fs::exists(dir_ / "out/draws"));
  const Outcome other = run("--resume out --steps 60");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("a resumed run keeps its settings"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace isinglass::resumed_sample_test
