// The numbers of summary.json where they are known in closed form, and their independence of the
// number of threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/pt/pt_file.h"
#include "tests/models/script_files.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::summary_test {
namespace {

using Json = nlohmann::json;

class Summary : public testing::Test {
 protected:
  Json run(const std::string& arguments) {
    const Outcome outcome =
        run_program("sample --json --overwrite --out out " + arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return Json::parse(outcome.out);
  }

  TemporaryDirectory dir_;
};

// A TorchScript energy without differences and conditionals, with five sites of three values: 10
// neighbours.
TEST_F(Summary, CountsTheModelCallsOfItsSteps) {
  write_script(dir_ / "script.pt",
               "def forward(self, x):\n    return x.flatten(1).cumsum(1).sum(1) / 20\n");
  const std::string model =
      "--model script --weights script.pt --sites 5 --categories 3 --chains 7 --burn-in 3 ";
  const std::vector<std::pair<std::string, int64_t>> calls = {
      {"rwm", 1},     {"gwg", 1},   {"pafs --radius 2", 1},
      {"lb", 1 + 10}, {"gibbs", 2}, {"block-gibbs --block 2", 8}};
  for (const auto& [sampler, per_step] : calls) {
    SCOPED_TRACE(sampler);
    const Json summary = run(model + "--steps 40 --sampler " + sampler);
    EXPECT_EQ(summary["energy_evaluations"], 40 * per_step);
    EXPECT_EQ(summary["non_finite"], 0);
    EXPECT_EQ(summary["unmoved_chains"], 0);
    const double ess = summary["ess"]["mean"], seconds = summary["seconds"];
    EXPECT_GT(ess, 0);
    EXPECT_DOUBLE_EQ(summary["ess"]["per_step"], ess / 40);
    EXPECT_DOUBLE_EQ(summary["ess"]["per_evaluation"], ess / static_cast<double>(40 * per_step));
    EXPECT_DOUBLE_EQ(summary["ess"]["per_second"], ess / seconds);
    EXPECT_DOUBLE_EQ(summary["ess"]["per_second_all"], 7 * ess / seconds);
  }
}

TEST_F(Summary, ThreadsAreThoseOfTheFlagOrOfTheEnvironment) {
  const char* const variable = std::getenv("OMP_NUM_THREADS");
  const std::string before = variable ? variable : "";
  setenv("OMP_NUM_THREADS", "3", 1);
  const std::string short_run = "--instance ising-grid:side=3 --sampler rwm --steps 4 ";
  const Json asked = run(short_run + "--threads 2"), silent = run(short_run);
  variable ? setenv("OMP_NUM_THREADS", before.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(asked["threads"], 2);
  EXPECT_EQ(silent["threads"], 3);
}

// U is 0 for the empty state and infinite elsewhere. From there every proposal has infinite energy,
// all of the kept steps are counted, and no chain moves.
TEST_F(Summary, CountsTheProposalsOfNonFiniteEnergy) {
  write_script(dir_ / "script.pt",
               "def forward(self, x):\n"
               "    count = x.flatten(1).sum(1).float()\n"
               "    return torch.where(count > 0, torch.full_like(count, float('inf')), count)\n");
  write_pt(dir_ / "start.pt", PtValue{torch::zeros({6, 5}, torch::kUInt8)});
  const std::string model = "--model script --weights script.pt --sites 5 --init start.pt ";
  const Json summary = run(model + "--sampler rwm --burn-in 4 --steps 30");
  EXPECT_EQ(summary["chains"], 6);
  EXPECT_EQ(summary["non_finite"], 6 * 30);
  EXPECT_EQ(summary["acceptance"], 0);
  EXPECT_EQ(summary["hops"], 0);
  EXPECT_EQ(summary["unmoved_chains"], 6);
  EXPECT_EQ(summary["energy_evaluations"], 30);
  EXPECT_EQ(summary["ess"]["undefined"], 6);
  EXPECT_TRUE(summary["ess"]["per_second_all"].is_null());
}

// The energy is infinite if exactly one site is set, so that no move leaves the empty state. Chains
// that are all stuck are reported after any number of steps; a few stuck chains only if there are
// enough steps.
TEST_F(Summary, WarnsOfChainsThatDoNotMove) {
  write_script(
      dir_ / "script.pt",
      "def forward(self, x):\n"
      "    count = x.flatten(1).sum(1).float()\n"
      "    return torch.where(count == 1, torch.full_like(count, float('inf')), count / 9)\n");
  const auto warning = [&](const torch::Tensor& start, int steps) {
    write_pt(dir_ / "start.pt", PtValue{start});
    const Outcome outcome = run_program(
        fmt::format("sample --json --overwrite --out out --model script --weights script.pt "
                    "--sites 5 --init start.pt --sampler rwm --radius 1 --steps {}",
                    steps),
        {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  };
  const torch::Tensor empty = torch::zeros({2, 5}, torch::kUInt8), full = torch::ones_like(empty);
  const char* all = "warning: rwm: 2 of 2 chains did not move in 20 steps (mean acceptance 0)";
  EXPECT_NE(warning(empty, 20).find(all), std::string::npos);
  EXPECT_EQ(warning(full, 200).find("did not move"), std::string::npos);
  const torch::Tensor both = torch::cat({empty, full});
  EXPECT_EQ(warning(both, 20).find("did not move"), std::string::npos);
  EXPECT_NE(warning(both, 200).find("2 of 4 chains did not move in 200 steps"), std::string::npos);
}

// The most probable state has half of the mass. Its energy, accumulated from differences, is one
// value for the ranks of rank-normalised statistics, which no longer tell chains apart by rounding.
// 64 chains make about 1700 independent draws each.
TEST_F(Summary, RoundingIsNoDisagreement) {
  const std::string target = "--instance ising-field:side=4,coupling=0.3,mu=2,width=1 ";
  for (const std::string sampler : {"gibbs --scan chromatic", "gibbs", "pafs", "lb"}) {
    SCOPED_TRACE(sampler);
    const int thin = sampler == "gibbs" || sampler == "lb" ? 16 : 1;  // sites
    const Json summary =
        run(target + fmt::format("--chains 64 --burn-in 1000 --steps {} --thin {} --sampler {}",
                                 2000 * thin, thin, sampler));
    EXPECT_LT(summary["rhats"]["energy"].get<double>(), 1.005);
    EXPECT_GT(summary["ess"]["bulk"].get<double>(), 20000);
  }
}

// Half of the chains are frozen in all-up states, half in all-down ones. Their energies are equal,
// and so is the distance from a state with as many ups as downs.
TEST_F(Summary, FrozenHalvesDoNotAgree) {
  for (const int side : {4, 8}) {
    torch::Tensor start = torch::zeros({16, side * side}, torch::kUInt8);
    start.slice(0, 8).fill_(1);
    write_pt(dir_ / "start.pt", PtValue{start});
    const Outcome outcome = run_program(
        fmt::format("sample --json --overwrite --out out --instance "
                    "ising-grid:side={},coupling=9 --init start.pt --sampler gibbs --steps 300",
                    side),
        {.directory = dir_.path()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json summary = Json::parse(outcome.out);
    EXPECT_TRUE(summary["rhats"]["energy"].is_null());  // the same everywhere
    for (const char* statistic : {"hamming", "sum"}) {
      EXPECT_EQ(summary["rhats"][statistic], std::numeric_limits<double>::max());
    }
    EXPECT_EQ(summary["rhat"], std::numeric_limits<double>::max());
    EXPECT_EQ(summary["moved"], 0);
    EXPECT_NE(outcome.err.find("is infinite: the chains have not converged to one distribution"),
              std::string::npos)
        << outcome.err;
    EXPECT_NE(
        outcome.err.find("either they are frozen, or one state has nearly all of the probability"),
        std::string::npos)
        << outcome.err;
  }
}

// The second of two variables equals the first: no single move leads from 00 to 11, whose energies
// are equal.
TEST_F(Summary, TablesWithZerosAreTold) {
  write_file(dir_ / "equal.uai", "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n 0.5 0.5\n4\n 1 0 0 1\n");
  const Outcome outcome = run_program(
      "sample --overwrite --out out --model bayesnet --weights equal.uai --sampler gibbs "
      "--chains 20 --steps 200",
      {.directory = dir_.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 probabilities are 0 and count as 1e-30: single-site moves may not "
                             "connect the states; use block-gibbs or --rungs"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("the chains have not converged to one distribution"),
            std::string::npos)
      << outcome.err;
}

// The tables of a Markov network hold factors, which need not be probabilities.
TEST_F(Summary, AFactorOfZeroAndAnObservedVariableAreTold) {
  write_file(dir_ / "pair.uai", "MARKOV\n2\n2 2\n1\n2 0 1\n4\n 3 0 1 4\n");
  write_file(dir_ / "pair.uai.evid", "1\n1 0 1\n");
  const Outcome outcome = run_program(
      "sample --overwrite --out out --model bayesnet --weights pair.uai --sampler gibbs "
      "--chains 20 --steps 20",
      {.directory = dir_.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(": 1 entry of a factor is 0 and counts as 1e-30 of the largest entry: "
                             "single-site moves"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("; 1 variable is observed ("), std::string::npos) << outcome.out;
}

// Every proposal is the state itself and is accepted. This must not lengthen steps forever.
TEST_F(Summary, AdaptationOfFrozenChainsHasNotSettled) {
  write_pt(dir_ / "start.pt", PtValue{torch::zeros({10, 64}, torch::kUInt8)});
  const Outcome outcome = run_program(
      "sample --json --overwrite --out out --instance ising-grid:side=8,coupling=9 --init start.pt "
      "--sampler lbj --adapt --burn-in 400 --steps 20",
      {.directory = dir_.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_FALSE(summary["adaptation"]["settled"].get<bool>());
  EXPECT_LT(summary["adapted"]["tau"].get<double>(), 1e4);
  EXPECT_NE(outcome.err.find("warning: lbj: --adapt has no signal to adapt to"), std::string::npos)
      << outcome.err;
}

// Closed forms that LibTorch's products or our kernels divide among threads; the sizes are large
// enough for that.
TEST_F(Summary, ThreadsDoNotChangeTheDrawsOfClosedForms) {
  torch::manual_seed(6);
  write_named_tensors(dir_ / "rbm.pt", {{"W", 0.1 * torch::randn({120, 300})},
                                        {"b_v", 0.3 * torch::randn({300})},
                                        {"b_h", 0.3 * torch::randn({120})}});
  write_named_tensors(dir_ / "fhmm.pt", {{"y", torch::randn({100})},
                                         {"W", torch::randn({5, 2})},
                                         {"b", torch::tensor(0.3f)},
                                         {"sigma", torch::tensor(0.8f)},
                                         {"p_init", torch::tensor(0.7f)},
                                         {"p_stay", torch::tensor(0.85f)}});
  write_named_tensors(
      dir_ / "logistic.pt",
      {{"X", torch::randn({400, 60})}, {"y", (torch::rand({400}) < 0.5).to(torch::kFloat32)}});
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"rbm", {"gwg", "pafs", "rwm", "lb", "gibbs", "gibbs --scan chromatic"}},
      {"fhmm", {"gwg", "pafs", "rwm", "lb", "gibbs"}},
      {"logistic", {"gwg", "pafs", "rwm", "gibbs"}}};
  for (const auto& [model, samplers] : runs) {
    for (const std::string& sampler : samplers) {
      SCOPED_TRACE(model + " " + sampler);
      std::string first;
      for (const std::string threads : {"1", "2", "3"}) {
        run("--model " + model + " --weights " + model +
            ".pt --chains 100 --burn-in 5 --steps 20 " + "--threads " + threads + " --sampler " +
            sampler);
        const std::string bytes = file_bytes(dir_ / "out" / "samples.pt");
        if (threads == "1") first = bytes;
        EXPECT_TRUE(bytes == first) << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::summary_test
