// isinglass sample --rungs: the files and output of a tempered run, its page, and refused options.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/pt/pt_file.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::tempering_test {
namespace {

using Json = nlohmann::json;

const std::string kIsing = "sample --instance ising-grid:side=6,coupling=0.5,periodic=1 ";

class TemperedSample : public testing::Test {
 protected:
  Outcome run(const std::string& arguments) {
    return run_program(arguments, {.directory = dir_.path()});
  }
  TemporaryDirectory dir_;
};

TEST_F(TemperedSample, WritesDrawsAtBetaOneAndWhatTheRungsDid) {
  const Outcome outcome =
      run(kIsing +
          "--sampler gibbs --scan chromatic --rungs 6 --exploration 2 --chains 9 "
          "--burn-in 40 --steps 60 --thin 3 --json --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(summary["chains"], 9);
  EXPECT_EQ(summary["acceptance"], 1.0);
  EXPECT_GE(summary["energy_evaluations"], 60 * 6 * 2);
  const Json& t = summary["tempering"];
  EXPECT_EQ(t["rungs"], 6);
  EXPECT_EQ(t["exploration"], 2);
  EXPECT_EQ(t["betas"].size(), 6u);
  EXPECT_EQ(t["betas"].front(), 0.0);
  EXPECT_EQ(t["betas"].back(), 1.0);
  EXPECT_EQ(t["rejection"].size(), 5u);
  double barrier = 0;
  for (const double r : t["rejection"]) barrier += r;
  EXPECT_NEAR(t["barrier"].get<double>(), barrier, 1e-9);
  EXPECT_GT(t["round_trips"], 0);
  EXPECT_GT(t["log_z"], 36 * 0.69);
  EXPECT_GT(t["log_z_se"], 0);
  // The draws are states with their energies at β = 1.
  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  EXPECT_EQ(draws[0].second.sizes(), (std::vector<int64_t>{20, 9, 36}));
  write_pt(dir_ / "states.pt", PtValue{draws[0].second.reshape({180, 36})});
  const torch::Tensor rungs = read_tensor(dir_ / "out" / "rungs.pt");
  EXPECT_EQ(rungs.sizes(), (std::vector<int64_t>{60, 6}));
  // Makes the page of the run, and starts another run with its schedule.
  ASSERT_EQ(run("report out").exit_code, 0);
  const std::string page = read_file(dir_ / "out" / "report.html");
  for (const char* part : {"Tempering", "Schedule", "Rungs of the first ensemble's replicas"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const Outcome warm =
      run(kIsing +
          "--sampler gibbs --scan chromatic --rungs 6 --chains 9 --steps 5 --warm-start "
          "out/summary.json --json --quiet --out warm");
  ASSERT_EQ(warm.exit_code, 0) << warm.err;
  EXPECT_EQ(Json::parse(warm.out)["tempering"]["betas"], t["betas"]);
}

TEST_F(TemperedSample, FindsTheNumberOfRungs) {
  const Outcome outcome = run(
      kIsing + "--sampler pafs --rungs auto --adapt --chains 4 --burn-in 130 --steps 20 --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("rungs: barrier"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("log Z"), std::string::npos) << outcome.out;
  const Json t = Json::parse(read_file(dir_ / "out" / "summary.json"))["tempering"];
  EXPECT_GE(t["rungs"], 3);
  EXPECT_TRUE(t["log_z_se"].is_null());  // four ensembles give no standard error
  EXPECT_EQ(t["scales"].size(), t["betas"].size());
}

TEST_F(TemperedSample, ALadderMayBeginAboveZero) {
  const Outcome outcome = run(kIsing +
                              "--sampler gibbs --scan chromatic --rungs auto --lowest-beta 0.5 "
                              "--chains 9 --burn-in 40 --steps 40 --json --quiet --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json t = Json::parse(outcome.out)["tempering"];
  EXPECT_EQ(t["betas"].front(), 0.5);
  EXPECT_EQ(t["betas"].back(), 1.0);
  EXPECT_TRUE(t["log_z"].is_null());
  EXPECT_GT(t["round_trips"], 0);
}

TEST_F(TemperedSample, BadInputIsOneLine) {
  write_permutation(dir_ / "permutation.pt");
  const std::string gwg = kIsing + "--sampler gwg --steps 2 --out out ";
  const std::map<std::string, std::string> wrong = {
      {gwg + "--rungs 1", "--rungs is"},
      {gwg + "--rungs many", "auto or a whole number from 2"},
      {gwg + "--rungs 2.5", "auto or a whole number from 2"},
      {gwg + "--rungs 4 --exploration 0", "--exploration"},
      {gwg + "--exploration 3", "--exploration applies to tempering only, and needs --rungs"},
      {gwg + "--rungs 4 --chains 0", "--chains"},
      {gwg + "--lowest-beta 0.5", "--lowest-beta applies to tempering only, and needs --rungs"},
      {gwg + "--rungs 4 --lowest-beta 1", "--lowest-beta is 1; it must be at least 0 and below 1"},
      {gwg + "--rungs 10000 --chains 100000000", "GiB"},
      {gwg + "--rungs auto", "--burn-in is 0"},
      {gwg + "--rungs 4 --burn-in 9 --anneal 2,1", "--rungs and --anneal exclude each other"},
      {kIsing + "--sampler lsb-1 --steps 2 --out out --rungs 4", "the same tensors for all rungs"},
      {kIsing + "--sampler ab-1st --steps 2 --out out --rungs 4", "--sigma and --alpha"},
      {"sample --model permutation --weights permutation.pt --sampler lb --steps 2 --rungs 4 --out "
       "out",
       "the model's states are permutation"},
      {"sample --instance misled-flat --sampler fhl --steps 2 --rungs 4 --out out",
       "fhl pulls the chains of a group towards each other"},
      {"sample --instance misled-flat --sampler hmc --steps 2 --rungs 4 --start-scale 0 --out out",
       "--start-scale"},
      {"sample --instance misled-flat --sampler hmc --steps 2 --start-scale 2 --out out",
       "--start-scale applies to tempering only, and needs --rungs"},
      {gwg + "--rungs 4 --start-scale 2", "--start-scale requires continuous states"},
      {"evaluate --instance ising-grid:side=6 --sampler dlp --unadjusted --steps 5 --out out",
       "dlp is not exact"},
      {"evaluate --instance ising-grid:side=6 --sampler dlp --unadjusted --method tempering "
       "--steps 5 --out out",
       "dlp is not exact"},
  };
  for (const auto& [command, message] : wrong) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << command;
  }
}

TEST_F(TemperedSample, GridsTakeTheSameKeys) {
  write_file(dir_ / "grid.toml",
             "title = \"Rungs\"\n[common]\nsteps = 40\nburn-in = 20\nchains = 8\n"
             "[[models]]\ninstance = \"ising-grid:side=5\"\n"
             "[[samplers]]\nsampler = \"gibbs\"\nscan = \"chromatic\"\n"
             "[[samplers]]\nsampler = \"gibbs\"\nscan = \"chromatic\"\nrungs = \"4\"\n"
             "exploration = 2\n");
  const Outcome outcome = run("ablate --grid grid.toml --quiet --out grid");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int64_t tempered = 0;
  for (const auto& cell : std::filesystem::directory_iterator(dir_ / "grid" / "cells")) {
    const Json summary = Json::parse(read_file(cell.path())).value("summary", Json::object());
    if (!summary.contains("tempering")) continue;
    ++tempered;
    EXPECT_EQ(summary["tempering"]["rungs"], 4);
    EXPECT_EQ(summary["tempering"]["exploration"], 2);
  }
  EXPECT_EQ(tempered, 1);
}

}  // namespace
}  // namespace isinglass::tempering_test
