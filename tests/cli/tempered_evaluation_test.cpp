// isinglass evaluate --method tempering.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/cli/evaluate_fixture.h"

namespace isinglass::tempered_evaluation_test {
namespace {

using Json = nlohmann::json;
using TemperedEvaluation = Evaluate;

// Tempering estimates log Z by Bennett's ratio over the rungs, with a bound from either end.
TEST_F(TemperedEvaluation, HoldsLogZFromBothEnds) {
  const std::string method = "--method tempering --steps 400 --chains 20 --quiet --json ";
  const std::map<std::string, std::string> commands = {
      {"ising", "--sampler gwg --rungs 5 --exploration 2 "}, {"rbm", "--dataset bars.pt "}};
  for (const auto& [model, options] : commands) {
    const double exact = torch::logsumexp(-energies(model), 0).item<double>();
    const Json ais = Json::parse(run("evaluate --model " + model + " --weights " + model + ".pt " +
                                     options + method + "--out " + model)
                                     .out);
    const double low = ais["log_z"], high = ais["log_z_upper"], both = ais["log_z_bidirectional"];
    EXPECT_EQ(ais["method"], "tempering");
    EXPECT_EQ(ais["burn_in"], 200);
    EXPECT_EQ(ais["verdict"], "closed") << ais["reason"];
    EXPECT_NEAR(both, exact, 4 * ais["log_z_bidirectional_se"].get<double>()) << model;
    EXPECT_LT(ais["log_z_bidirectional_se"], 0.1) << model;
    EXPECT_NEAR(ais["bracket"].get<double>(), high - low, 1e-12);
    // The ends may cross, because they are bounds on average only.
    using End = std::pair<double, double>;
    const auto [least, largest] = std::minmax(
        {End(low, ais["log_z_se"].get<double>()), End(high, ais["log_z_upper_se"].get<double>())});
    EXPECT_NEAR(ais["log_z_interval"][0].get<double>(), least.first - 2 * least.second, 1e-12);
    EXPECT_NEAR(ais["log_z_interval"][1].get<double>(), largest.first + 2 * largest.second, 1e-12);
    EXPECT_EQ(ais["log_likelihood_interval"].size(), ais["log_likelihood"].size());
    EXPECT_NEAR(low, both, 0.5) << model;
    EXPECT_NEAR(high, both, 0.5) << model;
    EXPECT_LT(ais["rhat"], 1.05);
    EXPECT_GE(ais["tempering"]["round_trips"].get<double>() * 20, 10);
    EXPECT_EQ(ais["curve"], Json::array({{400, ais["log_z"]}}));
    EXPECT_EQ(ais["path"], model == "rbm" ? "joint" : "linear");
    EXPECT_EQ(ais["log_likelihood"].size(), model == "rbm" ? 3u : 0u);
    const PtDict chains = std::get<PtDict>(read_pt(dir_ / model / "chains.pt").value);
    EXPECT_EQ(chains.size(), 1u);
    EXPECT_EQ(read_tensor(dir_ / model / "rungs.pt").size(1), ais["tempering"]["rungs"]);
    run("report " + model);
    const std::string page = file_bytes(dir_ / model / "report.html");
    for (const char* part : {"Rungs of the first ensemble's replicas", "round_trips"}) {
      EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(page.find("both ways") != std::string::npos, model == "rbm");  // has data
  }
}

// All spins are coupled. From nearly empty images no ladder reaches the heavier phase, of ones,
// within a thousand scans. Ensembles that start from noise do, and R-hat shows the difference.
TEST_F(TemperedEvaluation, NoiseFindsWhatTheDataAreFarFrom) {
  constexpr int64_t kSpins = 24;
  constexpr double kField = 0.05;
  const torch::Tensor pairs = torch::combinations(torch::arange(kSpins));
  write_named_tensors(dir_ / "phases.pt", {{"edges", pairs},
                                           {"coupling", torch::full({pairs.size(0)}, 0.12)},
                                           {"field", torch::full({kSpins}, kField)}});
  write_pt(dir_ / "empty.pt", PtValue{torch::zeros({60, kSpins}, torch::kUInt8)});
  const Json ais = Json::parse(run("evaluate --model ising --weights phases.pt --dataset empty.pt "
                                   "--sampler gwg --method tempering --rungs 8 "
                                   "--chains 10 --steps 1000 --threads 1 --quiet --json --out out")
                                   .out);
  EXPECT_EQ(ais["verdict"], "open") << ais["log_z_bidirectional"];
  EXPECT_GT(ais["rhat"], 1.05);
  const torch::Tensor x = std::get<torch::Tensor>(
      std::get<PtDict>(read_pt(dir_ / "out" / "chains.pt").value).at(0).second.value);
  const torch::Tensor ones = x.to(torch::kFloat32).mean(1).gt(0.5);
  EXPECT_TRUE(ones.any().item<bool>());
  EXPECT_FALSE(ones.all().item<bool>());
}

TEST_F(TemperedEvaluation, SaysWhyItIsOpen) {
  const std::string command =
      "evaluate --model ising --weights ising.pt --sampler gwg --method tempering --rungs 30 "
      "--steps 4 --quiet ";
  const std::string text = run(command + "--chains 2 --out out").out;
  EXPECT_NE(text.find("± undefined"), std::string::npos) << text;
  EXPECT_NE(text.find("open: "), std::string::npos) << text;
  for (const char* reason : {"no standard error", "0 round trips", "R-hat"}) {
    EXPECT_NE(text.find(reason), std::string::npos) << text;
  }
  const std::string late = run(command + "--chains 8 --until-closed 0.001 --out late").out;
  EXPECT_NE(late.find("still open at 4 scans"), std::string::npos) << late;
  const std::map<std::string, std::string> wrong = {
      {"--method ais --rungs 4", "--rungs and --exploration apply to --method tempering and"},
      {"--method tempering --reverse", "estimates log Z from both ends without it"},
      {"--method tempering --schedule linear", "--schedule applies to annealing only"},
      {"--method tempering --rungs 1", "--rungs is"},
      {"--method tempering --sampler lsb-1", "the same tensors for all rungs"},
      {"--method exact", "--method"},
  };
  for (const auto& [options, message] : wrong) {
    const Outcome outcome = run_program(
        "evaluate --model ising --weights ising.pt --steps 4 --out "
        "wrong " +
            options,
        {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace isinglass::tempered_evaluation_test
